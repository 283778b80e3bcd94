package dev.isthmus.bench;

import dev.isthmus.gateway.accesslog.ReloadableAccessLog;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a line of the access log costs the event loop of its call. Lines that the thread of the log cannot write in time
 * are dropped, which costs less: the share of calls that is logged keeps it below that.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class AccessLogBenchmark {
    private static final String CONFIG = """
            local: {embedded_models: true}
            default_upstream: local
            access_log: {file: access.log, keep: 0}
            """;

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ReloadableAccessLog log = new ReloadableAccessLog(meters);
    private final EventLoop loop = new EmbeddedChannel().eventLoop();
    private final ClientConnection connection =
            new ClientConnection("127.0.0.1:8080", new InetSocketAddress("127.0.0.1", 50_123), null);
    private final ModelRef model = new ModelRef("simple", "1");
    private final Operation operation = new Operation.ModelReady(model);

    /** Configures the log. */
    @Setup
    public void start() throws Exception {
        GatewayConfig config =
                ConfigLoader.parse("bench.yaml", CONFIG, Files.createTempDirectory("isthmus-access-log"));
        log.configure(config.accessLog());
    }

    /** Says how many lines were written and dropped. */
    @TearDown
    @SuppressWarnings("SystemOut") // the result
    public void stop() {
        log.close();
        meters.getMeters().forEach(each -> System.out.println(each.getId() + " " + each.measure()));
    }

    private CallContext call() {
        CallContext call = new CallContext(
                ClientProtocol.GRPC,
                connection,
                new Head(),
                loop,
                UnpooledByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                0);
        call.identified(AsciiString.of("0af7651916cd43dd8448eb211c80319c"), false);
        call.began(operation);
        call.routed("simple");
        call.sentTo("triton", "triton", model);
        call.attempted("127.0.0.1:8001");
        call.received(180);
        call.requestComplete(40_000);
        call.responseBegan(900_000);
        call.responseSent(160);
        call.ended(950_000);
        return call;
    }

    /** The context alone. */
    @Benchmark
    public CallContext nothing() {
        return call();
    }

    @Benchmark
    public CallContext line() {
        CallContext call = call();
        log.ended(Exchange.of(call));
        return call;
    }

    /** The head of a gRPC request. */
    private static final class Head implements HeaderFields {
        @Override
        public @Nullable String value(String name) {
            return null;
        }

        @Override
        public String method() {
            return "POST";
        }

        @Override
        public String uri() {
            return "/inference.GRPCInferenceService/ModelInfer";
        }
    }
}

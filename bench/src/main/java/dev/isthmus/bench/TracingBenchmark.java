package dev.isthmus.bench;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import dev.isthmus.gateway.tracing.ReloadableTracing;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.AsciiString;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What traces cost the event loop of a call with one attempt: its spans, the headers for its server, its metrics. There
 * is no collector: spans that do not find a place in the queue are dropped, which costs about what queueing does.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class TracingBenchmark {
    private static final String UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    private static final ModelRef MODEL = ModelRef.of("m");

    /** The share that is sampled; off for no traces. */
    @Param({"off", "0", "0.01", "1"})
    public String sample = "off";

    /** Whether the client sends a traceparent. */
    @Param({"false", "true"})
    public boolean parent;

    private final ProcessMetrics metrics = new ProcessMetrics("bench", "bench");
    private final CallMetrics calls = new CallMetrics(metrics.registry());
    private final ReloadableTracing tracing = new ReloadableTracing(metrics.registry(), "bench");
    private final EventLoop loop = new EmbeddedChannel().eventLoop();
    private final ClientConnection connection =
            new ClientConnection("l", new InetSocketAddress(InetAddress.getLoopbackAddress(), 1), null, false);
    private final Operation operation =
            new Operation.Infer(MODEL, new BodyForm.RestForm(-1, 100, NonFinite.TOKEN), false);
    private Map<String, String> forwarded = Map.of();
    private HeaderFields fields = HeaderFields.NONE;

    /** The head of a request. */
    private record Head(Map<String, String> values) implements HeaderFields {
        @Override
        public @Nullable String value(String name) {
            return values.get(name);
        }

        @Override
        public String method() {
            return "POST";
        }

        @Override
        public String uri() {
            return "/v2/models/m/infer";
        }
    }

    /** Turns traces on. */
    @Setup
    public void start() {
        forwarded = parent
                ? Map.of("isthmus-hops", "1", "x-request-id", "r", "traceparent", UNSAMPLED)
                : Map.of("isthmus-hops", "1", "x-request-id", "r");
        fields = new Head(forwarded);
        if (!sample.equals("off")) {
            TracingConfig config = new TracingConfig(
                    "http://127.0.0.1:1/v1/traces",
                    Double.parseDouble(sample),
                    ParentDecision.IGNORED,
                    "bench",
                    Map.of(),
                    Map.of(),
                    null,
                    Duration.ofMillis(100),
                    2048);
            tracing.configure(config, GatewayConfig.Headers.DEFAULT.forwarded());
        }
    }

    /** Drops what is left. */
    @TearDown
    public void stop() {
        tracing.close();
        metrics.close();
    }

    @Benchmark
    public Call call() {
        CallContext context = new CallContext(
                ClientProtocol.REST,
                connection,
                fields,
                loop,
                UnpooledByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                System.nanoTime());
        context.began(operation);
        context.identified(AsciiString.of("r"), false);
        Exchange exchange = Exchange.of(context);
        tracing.began(exchange);
        calls.began(exchange);
        Call call = new Call(operation, Call.NO_DEADLINE, forwarded, context);
        context.attempted("127.0.0.1:8001");
        TraceSpan span = context.span();
        TraceSpan attempt = span == TraceSpan.NONE
                ? span
                : span.attempt(operation, new AttemptTarget("u", "127.0.0.1:8001", Wire.PROTOBUF, MODEL, 1));
        Call sent = attempt.propagated(call);
        attempt.ended(null, "");
        context.ended(System.nanoTime());
        tracing.ended(exchange);
        calls.ended(exchange);
        return sent;
    }
}

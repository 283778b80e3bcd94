package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.rest.RestBody;
import io.grpc.ServerCall;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The facts that a call's context has when the call has ended. */
class CallContextTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    private EventLoopGroup loops;
    private FakeGrpcServer server;
    private Stage stage;

    /** Responds to every request with its number. */
    private static final class Echo implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            call.sendMessage(Infer.responseTo(request, Infer.value(request)).toByteArray());
        }
    }

    /** Releases the response, and reports its end. */
    private static final class Client implements Reply {
        private final CompletableFuture<Boolean> ended = new CompletableFuture<>();

        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {
            ended.complete(true);
        }

        @Override
        public void fail(OipException failure) {
            ended.completeExceptionally(failure);
        }
    }

    @BeforeEach
    void start() throws Exception {
        loops = new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        server = new FakeGrpcServer(new Echo());
        ModelConfig falling = TestConfigs.with(
                ModelConfig.of("gone"), Map.of("fallback", new ModelConfig.Fallback("alive", "n", null)));
        stage = new Stage(
                Map.of(
                        "alive",
                        Stage.grpc(server, ServerDialect.GENERIC),
                        "gone",
                        TestConfigs.upstream(UpstreamProtocol.GRPC, TestConfigs.unusedEndpoint())),
                Map.of("m", falling, "plain", ModelConfig.of("alive")),
                null,
                false);
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private CallContext call(Operation operation, byte[] body) throws Exception {
        CallContext context = new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                loops.next(),
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                System.nanoTime());
        Client client = new Client();
        loops.next().execute(() -> {
            RequestSink sink = stage.proxy()
                    .listenerContext()
                    .calls()
                    .open(new Call(operation, Call.NO_DEADLINE, Map.of(), context), client);
            sink.data(Unpooled.wrappedBuffer(body));
            sink.end();
        });
        client.ended.get(20, TimeUnit.SECONDS);
        return context;
    }

    @Test
    void callThatFallsBack_namesTheFallback() throws Exception {
        Operation infer = new Operation.Infer(MODEL, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false);
        CallContext context = call(infer, Infer.json("a", 7).getBytes(StandardCharsets.UTF_8));
        assertThat(context.operation()).isEqualTo(infer);
        assertThat(context.route()).isEqualTo("m");
        assertThat(context.upstream()).isEqualTo("alive");
        assertThat(context.served()).isEqualTo(ModelRef.of("n"));
        assertThat(context.server()).isEqualTo("127.0.0.1:" + server.port());
        assertThat(context.attempts()).isGreaterThanOrEqualTo(2);
        assertThat(context.code()).isNull();
        assertThat(context.reason()).isEmpty();
    }

    @Test
    void stream_namesTheTargetOfItsMessages() throws Exception {
        CallContext context = call(
                new Operation.InferStream(true), Infer.request("plain", "a", 7).toByteArray());
        assertThat(context.upstream()).isEqualTo("alive");
        assertThat(context.served()).isEqualTo(ModelRef.of("plain"));
        assertThat(context.server()).isEqualTo("127.0.0.1:" + server.port());
        assertThat(context.attempts()).isEqualTo(1);
    }
}

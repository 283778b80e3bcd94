package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Large responses of a gRPC server are forwarded to a gRPC client as they arrive; if that is not possible, they are
 * buffered.
 */
class PassedResponseTest {
    private static final int LIMIT = 32 << 20;
    private static final int LARGE = 16 << 20;
    private static final int SOME = 3 << 20;
    /** The window of one of the gateway's streams at a server. */
    private static final int WINDOW = 1 << 20;

    private static final ModelInferRequest REQUEST = Infer.request("m", "a", 1);
    private static final String METHOD = "/" + FakeGrpcServer.SERVICE + "/ModelInfer";

    private PartsServer server;

    @BeforeEach
    void start() {
        server = new PartsServer();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static byte[] response(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return Infer.responseTo(REQUEST, ByteString.copyFrom(content)).toByteArray();
    }

    private static byte[] framed(byte[] message) {
        return ByteBuffer.allocate(message.length + 5)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array();
    }

    private UpstreamConfig upstream() {
        return TestConfigs.with(
                Stage.grpc(server, ServerDialect.MLSERVER),
                Map.of("retry", new Retry(2, EnumSet.allOf(RetryOn.class), 1 << 20, 1)));
    }

    private Stage stage() throws Exception {
        return stage(upstream(), ModelConfig.of("server"));
    }

    private static Stage stage(UpstreamConfig upstream, ModelConfig model) throws Exception {
        return Stage.taking(LIMIT, Map.of("server", upstream), Map.of("m", model));
    }

    private static GrpcClient ask(Stage stage) {
        return GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), REQUEST.toByteArray());
    }

    /** Sends a request without reading the response. */
    private static Http2Client.Response callWithoutReading(Http2Client client, String... headers) {
        String[] all = new String[headers.length + 4];
        System.arraycopy(headers, 0, all, 0, headers.length);
        System.arraycopy(
                new String[] {"content-type", "application/grpc", "te", "trailers"}, 0, all, headers.length, 4);
        Http2Client.Response response = client.post(METHOD, framed(REQUEST.toByteArray()), all);
        response.reading(false);
        return response;
    }

    /** Waits until the number has been stable for a while. */
    private static int settled(AtomicInteger number) {
        AtomicInteger before = new AtomicInteger(-1);
        await().pollInterval(Duration.ofMillis(300))
                .atMost(Duration.ofSeconds(30))
                .until(() -> number.get() > 0 && before.getAndSet(number.get()) == number.get());
        return number.get();
    }

    private static String grpcStatus(Http2Client.Response response) throws Exception {
        return response.trailers().get("grpc-status").toString();
    }

    @Test
    void largeResponse_arrivesByteForByte() throws Exception {
        byte[] response = response(LARGE);
        byte[] data = framed(response);
        try (Stage stage = stage()) {
            GrpcClient client = ask(stage);
            server.next().head().data(data, 0, data.length).end("0");
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.response()).isEqualTo(response);
        }
    }

    @Test
    void largeResponse_isCountedWhole() throws Exception {
        byte[] response = response(SOME);
        byte[] data = framed(response);
        try (Stage stage = stage()) {
            GrpcClient client = ask(stage);
            server.next().head().data(data, 0, data.length).end("0");
            client.response();
            await().untilAsserted(() -> assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.response.bytes")
                            .tag("model", "m")
                            .functionCounter()
                            .count())
                    .isEqualTo(response.length));
        }
    }

    @Test
    void firstBytes_arriveBeforeTheLastAreSent() throws Exception {
        byte[] data = framed(response(SOME));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            response.reading(true);
            PartsServer.Inference inference = server.next().head().data(data, 0, 100);
            response.part();
            inference.data(data, 100, data.length).end("0");
            assertThat(grpcStatus(response)).isEqualTo("0");
        }
    }

    @Test
    void clientThatDoesNotRead_stopsTheServer() throws Exception {
        byte[] data = framed(response(LARGE));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            PartsServer.Inference inference = server.next().head().data(data, 0, data.length);
            inference.end("0");
            await().atMost(Duration.ofSeconds(30)).until(() -> inference.sent.get() >= WINDOW);
            assertThat(settled(inference.sent)).isLessThanOrEqualTo(2 * WINDOW);
            response.reading(true);
            assertThat(grpcStatus(response)).isEqualTo("0");
            assertThat(inference.sent).hasValue(data.length);
        }
    }

    /** What a server does after half of its response. */
    private enum Fault {
        DIES,
        RESETS,
        FAILS,
        ENDS,
        ENDS_WITHOUT_STATUS;

        void happen(PartsServer.Inference to) {
            switch (this) {
                case DIES -> to.die();
                case RESETS -> to.reset();
                case FAILS -> to.end("14");
                case ENDS -> to.end("0");
                case ENDS_WITHOUT_STATUS -> to.endWithoutStatus();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void serverThatFailsHalfWay_failsTheCallAndIsNotCalledAgain(Fault fault) throws Exception {
        byte[] data = framed(response(SOME));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            response.reading(true);
            PartsServer.Inference inference = server.next().head().data(data, 0, SOME / 2);
            response.part();
            fault.happen(inference);
            assertThat(grpcStatus(response)).isNotEqualTo("0");
            assertThat(server.inferences).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void serverThatFails_whileTheClientDoesNotRead_failsTheCall(Fault fault) throws Exception {
        byte[] data = framed(response(LARGE));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            PartsServer.Inference inference = server.next().head().data(data, 0, WINDOW);
            settled(inference.sent);
            fault.happen(inference);
            response.reading(true);
            assertThat(grpcStatus(response)).isNotEqualTo("0");
            assertThat(server.inferences).isEmpty();
        }
    }

    @Test
    void secondMessage_failsTheCall() throws Exception {
        byte[] data = framed(response(SOME));
        try (Stage stage = stage()) {
            GrpcClient client = ask(stage);
            server.next()
                    .head()
                    .data(data, 0, data.length)
                    .data(data, 0, data.length)
                    .end("0");
            assertThat(client.status().getCode()).isNotEqualTo(Status.Code.OK);
        }
    }

    @Test
    void responseThatIsAnnouncedTooLarge_isRefusedBeforeAnyOfIt() throws Exception {
        byte[] data = ByteBuffer.allocate(100).put((byte) 0).putInt(LIMIT + 1).array();
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            response.reading(true);
            PartsServer.Inference inference = server.next().head().data(data, 0, data.length);
            assertThat(grpcStatus(response)).isNotEqualTo("0");
            assertThat(response.body()).isEmpty();
            assertThat(inference.reset.get(20, TimeUnit.SECONDS)).isNotNull();
        }
    }

    @Test
    void clientThatGoesHalfWay_resetsTheServersStream() throws Exception {
        byte[] data = framed(response(SOME));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            response.reading(true);
            PartsServer.Inference inference = server.next().head().data(data, 0, SOME / 2);
            response.part();
            response.cancel();
            assertThat(inference.reset.get(20, TimeUnit.SECONDS)).isNotNull();
        }
    }

    @Test
    void clientThatGoes_withoutHavingRead_resetsTheServersStream() throws Exception {
        byte[] data = framed(response(LARGE));
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            PartsServer.Inference inference = server.next().head().data(data, 0, data.length);
            settled(inference.sent);
            response.cancel();
            assertThat(inference.reset.get(20, TimeUnit.SECONDS)).isNotNull();
        }
    }

    /** Asserts that the complete response is read from the server although the client reads nothing. */
    private void expectGathered(Stage stage, String... headers) throws Exception {
        byte[] data = framed(response(SOME));
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client, headers);
            PartsServer.Inference inference = server.next().head().data(data, 0, data.length);
            await().atMost(Duration.ofSeconds(30)).until(() -> inference.sent.get() == data.length);
            inference.end("0");
            response.reading(true);
            assertThat(grpcStatus(response)).isEqualTo("0");
        }
    }

    @Test
    void responseOfARenamedModel_isGathered() throws Exception {
        byte[] data = framed(response(SOME));
        ModelConfig renamed = TestConfigs.with(ModelConfig.of("server"), Map.of("model", "other"));
        try (Stage stage = stage(upstream(), renamed)) {
            expectGathered(stage);
            GrpcClient client = ask(stage);
            server.next().head().data(data, 0, data.length).end("0");
            assertThat(Infer.response(client.response()).getModelName()).isEqualTo("m");
        }
    }

    @Test
    void responseThatIsCompressed_isGathered() throws Exception {
        try (Stage stage = stage()) {
            expectGathered(stage, "grpc-encoding", "gzip");
        }
    }

    @Test
    void responseOfATry_thatHasLessTime_isGathered() throws Exception {
        UpstreamConfig impatient = TestConfigs.with(upstream(), Map.of("tryTimeout", Duration.ofSeconds(50)));
        try (Stage stage = stage(impatient, ModelConfig.of("server"))) {
            expectGathered(stage);
        }
    }

    private Stage shadowed(FakeGrpcServer shadow, boolean compare) throws Exception {
        ModelConfig.ShadowConfig copies = new ModelConfig.ShadowConfig(
                "next", "shadow", null, null, 1, compare, 0, 0, Duration.ofSeconds(20), 16);
        ModelConfig model = TestConfigs.with(ModelConfig.of("server"), Map.of("shadow", List.of(copies)));
        return Stage.taking(
                LIMIT,
                Map.of("server", upstream(), "shadow", Stage.grpc(shadow, ServerDialect.MLSERVER)),
                Map.of("m", model));
    }

    private static FakeGrpcServer echo() throws Exception {
        return new FakeGrpcServer((call, message) ->
                call.sendMessage(Infer.responseTo(Infer.request(message), 1).toByteArray()));
    }

    @Test
    void responseThatIsCompared_isGathered() throws Exception {
        try (FakeGrpcServer shadow = echo();
                Stage stage = shadowed(shadow, true)) {
            expectGathered(stage);
            await().untilAsserted(() -> assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.shadow.comparisons")
                            .tag("outcome", "different")
                            .counter()
                            .count())
                    .isEqualTo(1));
        }
    }

    @Test
    void responseOfAShadowedModel_thatIsNotCompared_isPassedOn() throws Exception {
        byte[] data = framed(response(SOME));
        try (FakeGrpcServer shadow = echo();
                Stage stage = shadowed(shadow, false);
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = callWithoutReading(client);
            response.reading(true);
            PartsServer.Inference inference = server.next().head().data(data, 0, 100);
            response.part();
            FakeGrpcServer.next(shadow.halfClosed);
            inference.data(data, 100, data.length).end("0");
            assertThat(grpcStatus(response)).isEqualTo("0");
        }
    }

    @Test
    void responseToARestClient_isGathered() throws Exception {
        byte[] data = framed(Infer.responseTo(REQUEST, ByteString.copyFrom(new byte[400_000]))
                .toByteArray());
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/infer", Infer.json("a", 1));
            server.next().head().data(data, 0, data.length).end("0");
            Http1Client.Response response = client.response();
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.text()).endsWith(",\"data\":[0" + ",0".repeat(99_999) + "]}]}");
        }
    }

    @Test
    void deadlineOfAClient_thatDoesNotRead_endsTheCall() throws Exception {
        byte[] data = framed(response(LARGE));
        try (Stage stage = stage()) {
            CallOptions hurried = CallOptions.DEFAULT.withDeadlineAfter(2, TimeUnit.SECONDS);
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelInfer", new Metadata(), hurried, 0);
            client.send(REQUEST.toByteArray());
            client.end();
            PartsServer.Inference inference = server.next().head().data(data, 0, data.length);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
            assertThat(inference.reset.get(20, TimeUnit.SECONDS)).isNotNull();
        }
    }
}

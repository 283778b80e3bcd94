package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.GrpcWebClient.GrpcWebResponse;
import dev.isthmus.gateway.flow.GrpcWebClient.HttpVersion;
import dev.isthmus.gateway.flow.GrpcWebClient.WebResponse;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelStreamInferResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.ServerLiveRequest;
import dev.isthmus.proto.ServerLiveResponse;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** gRPC-Web in both forms, over both versions of HTTP. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GrpcWebTest {
    private static final byte[] LIVE = GrpcWebClient.frame(0, new byte[0]);

    private Stage stage;

    @BeforeAll
    void start() throws Exception {
        stage = stage(true);
    }

    @AfterAll
    void stop() {
        stage.close();
    }

    private static Stage stage(boolean grpcWeb) throws Exception {
        Listener listener = TestConfigs.with(Listener.DEFAULT.at("127.0.0.1", 0), Map.of("grpcWeb", grpcWeb));
        GatewayConfig config = GatewayConfig.embedded().withListener(listener);
        return Stage.with(TestConfigs.with(config, Map.of("answers", Stage.RESPONSES)));
    }

    private Stream<GrpcWebClient> clients() {
        return Stream.of(HttpVersion.values())
                .flatMap(version ->
                        Stream.of(GrpcWebForm.values()).map(form -> new GrpcWebClient(stage.port(), version, form)));
    }

    private Stream<HttpVersion> versions() {
        return Stream.of(HttpVersion.values());
    }

    private GrpcWebClient binary(HttpVersion version) {
        return new GrpcWebClient(stage.port(), version, GrpcWebForm.BINARY);
    }

    private GrpcWebClient text(HttpVersion version) {
        return new GrpcWebClient(stage.port(), version, GrpcWebForm.TEXT);
    }

    private static ModelInferRequest request(String model, String id) {
        ByteBuffer numbers = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 16; i++) {
            numbers.putInt(i);
        }
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName(model).setId(id);
        for (String name : List.of("INPUT0", "INPUT1")) {
            request.addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                            .setName(name)
                            .setDatatype("INT32")
                            .addShape(1)
                            .addShape(16))
                    .addRawInputContents(ByteString.copyFrom(numbers.array()));
        }
        return request.build();
    }

    @ParameterizedTest
    @MethodSource("clients")
    void unaryCall(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.call("ModelInfer", request("simple", "one"));
        assertThat(response.http().status()).isEqualTo(200);
        assertThat(response.http().header("content-type"))
                .isEqualTo(client.form().contentType());
        assertThat(response.http().headers()).doesNotContainKeys("grpc-status", "access-control-allow-origin", "vary");
        assertThat(response.status()).as(response.text()).isZero();
        assertThat(response.messages()).hasSize(1);
        ModelInferResponse inference =
                ModelInferResponse.parseFrom(response.messages().getFirst());
        assertThat(inference.getId()).isEqualTo("one");
        assertThat(inference
                        .getRawOutputContents(0)
                        .asReadOnlyByteBuffer()
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .getInt(8))
                .isEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void stream_ofOneRequest(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.call("ModelStreamInfer", request("simple", "one"));
        assertThat(response.status()).as(response.text()).isZero();
        assertThat(response.messages()).hasSize(1);
        assertThat(ModelStreamInferResponse.parseFrom(response.messages().getFirst())
                        .getInferResponse()
                        .getId())
                .isEqualTo("one");
    }

    @ParameterizedTest
    @MethodSource("clients")
    void stream_ofManyRequests_thatWereSentBefore(GrpcWebClient client) throws Exception {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int i = 0; i < 300; i++) {
            body.writeBytes(
                    GrpcWebClient.frame(0, request("simple", "request " + i).toByteArray()));
        }
        GrpcWebResponse response =
                client.send("ModelStreamInfer", body.toByteArray()).frames();
        assertThat(response.status()).as(response.text()).isZero();
        assertThat(response.messages()).hasSize(300);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void failure_hasItsStatusInTheHeaders(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.call("ModelInfer", request("nothing", ""));
        assertThat(response.http().status()).isEqualTo(200);
        assertThat(response.http().header("content-type"))
                .isEqualTo(client.form().contentType());
        assertThat(response.http().latin()).isEmpty();
        assertThat(response.status()).isEqualTo(5);
        assertThat(response.text()).contains("nothing");
    }

    @ParameterizedTest
    @MethodSource("clients")
    void errorInAStream_isAMessage(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.call("ModelStreamInfer", request("nothing", "one"));
        assertThat(response.status()).isZero();
        assertThat(ModelStreamInferResponse.parseFrom(response.messages().getFirst())
                        .getErrorMessage())
                .contains("nothing");
    }

    @ParameterizedTest
    @MethodSource("versions")
    void response_hasTheFormThatIsAccepted(HttpVersion version) throws Exception {
        WebResponse response = binary(version).send("ServerLive", LIVE, "accept", "application/grpc-web-text");
        assertThat(response.header("content-type")).isEqualTo("application/grpc-web-text+proto");
        assertThat(ServerLiveResponse.parseFrom(response.frames().messages().getFirst())
                        .getLive())
                .isTrue();
    }

    @Test
    void text_byteByByte_inSegmentsWithPadding() throws Exception {
        byte[] message = request("simple", "one").toByteArray();
        byte[] frame = GrpcWebClient.frame(0, message);
        String text = Base64.getEncoder().encodeToString(Arrays.copyOf(frame, 5))
                + Base64.getEncoder().encodeToString(Arrays.copyOfRange(frame, 5, 15))
                + Base64.getEncoder().encodeToString(Arrays.copyOfRange(frame, 15, frame.length));
        StringBuilder chunks = new StringBuilder("POST " + GrpcWebClient.SERVICE + "ModelInfer HTTP/1.1\r\nHost: a\r\n"
                + "Content-Type: application/grpc-web-text\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < text.length(); i++) {
            chunks.append("1\r\n").append(text.charAt(i)).append("\r\n");
        }
        try (Http1Client client = text(HttpVersion.HTTP_1_1).connect()) {
            client.send(chunks + "0\r\n\r\n");
            assertThat(GrpcWebClient.read(client).frames().status()).isZero();
        }
    }

    @Test
    void pipelinedCalls_andOthers_inOrder() throws Exception {
        String call = "POST " + GrpcWebClient.SERVICE + "ServerLive HTTP/1.1\r\nHost: a\r\n"
                + "Content-Type: application/grpc-web-text\r\nContent-Length: 8\r\n\r\n"
                + Base64.getEncoder().encodeToString(LIVE);
        try (Http1Client client = text(HttpVersion.HTTP_1_1).connect()) {
            client.send(call + "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n" + call);
            assertThat(GrpcWebClient.read(client).frames().messages()).hasSize(1);
            assertThat(client.response().text()).contains("live");
            assertThat(GrpcWebClient.read(client).frames().messages()).hasSize(1);
        }
    }

    @ParameterizedTest
    @MethodSource("clients")
    void compressedMessages(GrpcWebClient client) throws Exception {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            request("simple", "one").writeTo(gzip);
        }
        WebResponse response =
                client.send("ModelInfer", GrpcWebClient.frame(1, packed.toByteArray()), "grpc-encoding", "gzip");
        assertThat(response.header("grpc-encoding")).isEqualTo("gzip");
        assertThat(response.frames().status()).as(response.frames().text()).isZero();
        assertThat(response.frames().messages()).hasSize(1);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void malformedBodies_areRefused(GrpcWebClient client) throws Exception {
        byte[] large = ByteBuffer.allocate(5).put((byte) 0).putInt(1 << 30).array();
        expect(client, "ModelInfer", large, 8, "gRPC message: at most");
        expect(
                client,
                "ServerLive",
                GrpcWebClient.frame(0x80, "a: b".getBytes(StandardCharsets.US_ASCII)),
                13,
                "a compressed flag of 0 or 1 is expected, got 128");
        expect(client, "ModelInfer", GrpcWebClient.frame(1, new byte[3]), 13, "there is no grpc-encoding");
        expect(client, "ModelInfer", new byte[] {0, 0, 0, 0, 9, 1}, 13, "ended before its message was complete");
        expect(client, "ServerLive", new byte[0], 13, "ended before its message was complete");
        byte[] two = Arrays.copyOf(LIVE, 10);
        expect(client, "ServerLive", two, 13, "one message is expected on a unary call");
        expect(client, "ModelReady", GrpcWebClient.frame(0, new byte[] {-1}), 3, "malformed protobuf");
        expect(client, "Nothing", LIVE, 12, "is not supported");
    }

    private static void expect(GrpcWebClient client, String method, byte[] body, int status, String text)
            throws Exception {
        GrpcWebResponse response = client.send(method, body).frames();
        assertThat(response.http().status()).isEqualTo(200);
        assertThat(response.text()).contains(text);
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.messages()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("versions")
    void malformedText_isRefused(HttpVersion version) throws Exception {
        for (String body : List.of("AAAA AAAA", "AAAAAAA=====", "AAAA\r\nAAAA")) {
            GrpcWebResponse response = text(version)
                    .ask(
                            "POST",
                            GrpcWebClient.SERVICE + "ServerLive",
                            body.getBytes(StandardCharsets.US_ASCII),
                            "content-type",
                            "application/grpc-web-text")
                    .frames();
            assertThat(response.status()).isEqualTo(3);
            assertThat(response.text()).contains("base64 is expected");
        }
        GrpcWebResponse cut = text(version)
                .ask(
                        "POST",
                        GrpcWebClient.SERVICE + "ServerLive",
                        "AAAAAAA=AA".getBytes(StandardCharsets.US_ASCII),
                        "content-type",
                        "application/grpc-web-text")
                .frames();
        assertThat(cut.status()).isEqualTo(13);
    }

    @ParameterizedTest
    @MethodSource("versions")
    void otherContent_isRefused(HttpVersion version) throws Exception {
        String path = GrpcWebClient.SERVICE + "ServerLive";
        GrpcWebResponse json = binary(version)
                .ask("POST", path, LIVE, "content-type", "application/grpc-web+json")
                .frames();
        assertThat(json.status()).isEqualTo(12);
        assertThat(json.text()).contains("application/grpc-web+proto or application/grpc-web-text+proto is expected");
        GrpcWebResponse coded = binary(version)
                .send("ServerLive", LIVE, "content-encoding", "gzip")
                .frames();
        assertThat(coded.status()).isEqualTo(12);
        assertThat(coded.text()).contains("header Content-Encoding: none is expected");
        GrpcWebResponse put = binary(version)
                .ask("PUT", path, LIVE, "content-type", "application/grpc-web")
                .frames();
        assertThat(put.text()).contains("method POST is expected");
        WebResponse plain = binary(version).ask("POST", path, LIVE, "content-type", "text/plain");
        assertThat(plain.status()).isEqualTo(415);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void deadline_holds(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.send(
                        "ModelInfer",
                        GrpcWebClient.frame(0, request("simple", "").toByteArray()),
                        "grpc-timeout",
                        "1n")
                .frames();
        assertThat(response.status()).isEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void management_staysRefused(GrpcWebClient client) throws Exception {
        GrpcWebResponse response = client.call(
                "RepositoryModelLoad",
                RepositoryModelLoadRequest.newBuilder().setModelName("simple").build());
        assertThat(response.status()).isEqualTo(7);
    }

    @ParameterizedTest
    @MethodSource("clients")
    void requestId_isReturned(GrpcWebClient client) throws Exception {
        GrpcWebResponse response =
                client.call("ServerLive", ServerLiveRequest.getDefaultInstance(), "x-request-id", "a-1");
        assertThat(response.http().header("x-request-id")).isEqualTo("a-1");
    }

    @ParameterizedTest
    @MethodSource("versions")
    void withoutTheSetting_itIsNotServed(HttpVersion version) throws Exception {
        try (Stage off = stage(false)) {
            WebResponse response = new GrpcWebClient(off.port(), version, GrpcWebForm.BINARY).send("ServerLive", LIVE);
            assertThat(response.status()).isEqualTo(415);
            assertThat(response.latin()).contains("as gRPC-Web if the listener allows it");
        }
    }

    @ParameterizedTest
    @MethodSource("clients")
    void call_isCountedWithItsProtocol(GrpcWebClient client) throws Exception {
        ProxyServer gateway = stage.proxy();
        client.call(
                "ModelReady", ModelReadyRequest.newBuilder().setName("simple").build());
        // The client receives the response before the call is counted.
        await().untilAsserted(() -> assertThat(gateway.meters()
                        .find("isthmus.requests")
                        .tags("protocol", "grpc_web")
                        .timers())
                .isNotEmpty());
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.GrpcWebClient.HttpVersion;
import dev.isthmus.gateway.flow.GrpcWebClient.WebResponse;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestConfigs;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests rejected by ingress are counted like every other call, by the code that the client received. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RefusedRequestsTest {
    private Stage stage;

    @BeforeAll
    void start() throws Exception {
        GatewayConfig config = TestConfigs.with(
                GatewayConfig.embedded(),
                Map.of(
                        "answers",
                        Stage.RESPONSES,
                        "limits",
                        TestConfigs.with(GatewayConfig.DEFAULT.limits(), Map.of("maxBodySize", Stage.LIMIT))));
        stage = Stage.with(
                config.withListener(TestConfigs.with(Listener.DEFAULT.at("127.0.0.1", 0), Map.of("grpcWeb", true))));
    }

    @AfterAll
    void stop() {
        stage.close();
    }

    private long counted(String protocol, String operation, String code) {
        MeterRegistry meters = stage.proxy().meters();
        @Nullable
        Timer timer = meters.find("isthmus.requests")
                .tags("protocol", protocol, "operation", operation, "code", code)
                .timer();
        return timer == null ? 0 : timer.count();
    }

    private void expectOneMore(String protocol, String operation, String code, long before) {
        // The client receives the response before the call is counted.
        await().untilAsserted(() ->
                assertThat(counted(protocol, operation, code)).as(code).isEqualTo(before + 1));
        assertThat(stage.proxy().meters().find("isthmus.requests.under.way").gauges())
                .allMatch(gauge -> gauge.value() == 0);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            404 | NOT_FOUND              | GET /v2/nothing HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n
            405 | METHOD_NOT_ALLOWED     | PUT /v2/models/digits/infer HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 0\\r\\n\\r\\n
            413 | PAYLOAD_TOO_LARGE      | POST /v2/models/digits/infer HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 9999999\\r\\n\\r\\n
            415 | UNSUPPORTED_MEDIA_TYPE | POST /v2/models/digits/infer HTTP/1.1\\r\\nHost: a\\r\\nContent-Encoding: br\\r\\nContent-Length: 1\\r\\n\\r\\nx
            400 | INVALID_ARGUMENT       | POST /v2/models/digits/infer HTTP/1.1\\r\\nHost: a\\r\\nX-Request-Timeout-Ms: soon\\r\\nContent-Length: 1\\r\\n\\r\\nx
            400 | INVALID_ARGUMENT       | GET /v2 HTTP/1.1\\r\\nHost: a\\r\\nHost: b\\r\\n\\r\\n
            """)
    void restRequest_beforeItIsACall(int status, String code, String request) throws Exception {
        long before = counted("rest", "unknown", code);
        try (Http1Client client = stage.http1()) {
            client.send(request.replace("\\r\\n", "\r\n"));
            assertThat(client.response().status()).isEqualTo(status);
        }
        expectOneMore("rest", "unknown", code, before);
    }

    @Test
    void restBody_thatTurnsOutTooLarge() throws Exception {
        long before = counted("rest", "infer", "PAYLOAD_TOO_LARGE");
        try (Http1Client client = stage.http1()) {
            client.send("POST /v2/models/digits/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            byte[] chunk = new byte[1 << 20];
            Arrays.fill(chunk, (byte) ' ');
            for (int sent = 0; sent <= Stage.LIMIT; sent += chunk.length) {
                client.send("100000\r\n").send(chunk).send("\r\n");
            }
            assertThat(client.response().status()).isEqualTo(413);
        }
        expectOneMore("rest", "infer", "PAYLOAD_TOO_LARGE", before);
        assertThat(counted("rest", "infer", "CANCELLED")).isZero();
    }

    @Test
    void restRequest_withTooLargeAHead() throws Exception {
        long before = counted("rest", "unknown", "HEADERS_TOO_LARGE");
        try (Http1Client client = stage.http1()) {
            client.get("/v2", "X-Large: " + "a".repeat(20_000));
            assertThat(client.response().status()).isEqualTo(431);
        }
        expectOneMore("rest", "unknown", "HEADERS_TOO_LARGE", before);
    }

    @Test
    void http2Request_ofAPathThatIsNotThere() throws Exception {
        long before = counted("rest", "unknown", "NOT_FOUND");
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response refused = client.post("/v2/nothing", "");
            assertThat(refused.head().status()).hasToString("404");
        }
        expectOneMore("rest", "unknown", "NOT_FOUND", before);
    }

    @Test
    void grpcCall_ofAMethodThatIsNotThere() throws Exception {
        long before = counted("grpc", "unknown", "UNIMPLEMENTED");
        GrpcClient call = GrpcClient.ask(stage.channel(), "Nothing", new Metadata(), new byte[0]);
        assertThat(call.status().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
        expectOneMore("grpc", "unknown", "UNIMPLEMENTED", before);
    }

    @ParameterizedTest
    @CsvSource({
        "UNIMPLEMENTED,         Nothing,     AAAAAAA=",
        "INVALID_ARGUMENT,      ServerLive,  not base64",
        "INVALID_ARGUMENT,      ModelReady,  AAAAAAH/",
        "INTERNAL,              ServerLive,  AAAAAA==",
        "INTERNAL,              ServerLive,  gAAAAAA=",
        "INTERNAL,              ModelInfer,  AQAAAAA=",
        "PAYLOAD_TOO_LARGE,     ModelInfer,  AP////8="
    })
    void grpcWebCall_beforeItIsACall(String code, String method, String body) throws Exception {
        for (HttpVersion version : HttpVersion.values()) {
            long before = counted("grpc_web", "unknown", code);
            WebResponse response = new GrpcWebClient(stage.port(), version, GrpcWebForm.TEXT)
                    .ask(
                            "POST",
                            GrpcWebClient.SERVICE + method,
                            body.getBytes(StandardCharsets.US_ASCII),
                            "content-type",
                            "application/grpc-web-text");
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.frames().status()).isPositive();
            expectOneMore("grpc_web", "unknown", code, before);
        }
    }

    @Test
    void grpcWebCall_withOtherMessages() throws Exception {
        long before = counted("grpc_web", "unknown", "UNSUPPORTED_MEDIA_TYPE");
        try (Http1Client client = stage.http1()) {
            client.post(GrpcWebClient.SERVICE + "ServerLive", "{}", "Content-Type: application/grpc-web+json");
            assertThat(client.response().header("grpc-status")).isEqualTo("12");
        }
        expectOneMore("grpc_web", "unknown", "UNSUPPORTED_MEDIA_TYPE", before);
    }

    @Test
    void grpcMessage_thatCannotBeRead() throws Exception {
        long before = counted("grpc", "unknown", "INVALID_ARGUMENT");
        GrpcClient call = GrpcClient.ask(stage.channel(), "ModelReady", new Metadata(), new byte[] {(byte) 0xff});
        assertThat(call.status().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        expectOneMore("grpc", "unknown", "INVALID_ARGUMENT", before);
    }
}

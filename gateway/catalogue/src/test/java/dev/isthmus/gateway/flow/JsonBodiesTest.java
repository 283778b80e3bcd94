package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** Bodies of other operations are validated as strictly as those of inferences, for every server. */
class JsonBodiesTest {
    private static final List<String> GENERATE = List.of("/v2/models/m/generate", "/v2/models/m/generate_stream");
    private static final List<String> MANAGEMENT = List.of(
            "/v2/repository/index",
            "/v2/repository/r/index",
            "/v2/repository/models/m/load",
            "/v2/repository/models/m/unload",
            "/v2/logging",
            "/v2/trace/setting",
            "/v2/models/m/trace/setting",
            "/v2/systemsharedmemory/region/r/register",
            "/v2/systemsharedmemory/unregister",
            "/v2/cudasharedmemory/region/r/register");

    static final Map<String, byte[]> MALFORMED = Map.ofEntries(
            Map.entry("no JSON", latin("x")),
            Map.entry("no object", latin("[]")),
            Map.entry("cut", latin("{\"a\":1")),
            Map.entry("bytes behind it", latin("{} x")),
            Map.entry("a byte order mark", latin("\u00ef\u00bb\u00bf{}")),
            Map.entry("UTF-16", "{}".getBytes(StandardCharsets.UTF_16BE)),
            Map.entry("UTF-16, marked", "{}".getBytes(StandardCharsets.UTF_16)),
            Map.entry("Latin 1", latin("{\"a\":\"\u00fc\"}")),
            Map.entry("an encoded surrogate", latin("{\"a\":\"\u00ed\u00a0\u0080\"}")),
            Map.entry("half a pair", latin("{\"a\":\"\\ud800\"}")),
            Map.entry("a key twice", latin("{\"a\":1,\"a\":1}")),
            Map.entry("a key twice within", latin("{\"a\":{\"b\":1,\"b\":1}}")),
            Map.entry("NaN", latin("{\"a\":NaN}")),
            Map.entry("a long name", latin("{\"" + "n".repeat(257) + "\":1}")),
            Map.entry("a long number", latin("{\"a\":" + "1".repeat((1 << 20) + 1) + "}")),
            Map.entry("65 levels", latin("{\"a\":" + "[".repeat(64) + "]".repeat(64) + "}")),
            Map.entry("250,000 levels", latin("{\"a\":" + "[".repeat(250_000) + "]".repeat(250_000) + "}")));
    static final List<Map.Entry<String, byte[]>> CASES = List.copyOf(MALFORMED.entrySet());

    private final BlockingQueue<String> posted = new LinkedBlockingQueue<>();

    private static byte[] latin(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Records the bodies it receives, except the gateway's own index requests. */
    private FakeRestServer rest() throws Exception {
        return FakeRestServer.that((request, out) -> {
            if (request.head().startsWith("POST ") && !request.head().startsWith("POST /v2/repository/index ")) {
                posted.add(request.body());
            }
            FakeRestServer.write(out, FakeRestServer.ok("{\"text_output\":\"\"}"));
            return true;
        });
    }

    private static Stage stage(UpstreamProtocol protocol, Endpoint endpoint) throws Exception {
        return FleetStage.of(Stage.upstream(protocol, endpoint, ServerDialect.TRITON, BinaryTensorData.FALSE, true));
    }

    private static void expectRefused(Stage stage, String path, byte[] body) throws Exception {
        try (Http1Client http1 = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            boolean small = MANAGEMENT.contains(path) && !path.endsWith("/load");
            int refused = small && body.length > 64 << 10 ? 413 : 400;
            Http1Client.Response first = http1.post(path, body).response();
            assertThat(first.status()).as(path + ": " + first.text()).isEqualTo(refused);
            assertThat(first.text()).startsWith("{\"error\":");
            assertThat(http1.get("/v2/health/live").response().status()).isEqualTo(200);
            Http2Client.Response second = http2.post(path, body);
            if (refused == 400) {
                assertThat(second.head().status()).as(path).hasToString("400");
                assertThat(second.body()).isEqualTo(first.text());
            } else {
                // The body has no declared length: a syntax error may be found before the size limit is reached.
                assertThat(second.head().status().toString()).as(path).isIn("400", "413");
            }
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void malformed_isRefused_beforeARestServerSeesIt(Map.Entry<String, byte[]> body) throws Exception {
        try (FakeRestServer server = rest();
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint())) {
            for (String path : GENERATE) {
                expectRefused(stage, path, body.getValue());
            }
            for (String path : MANAGEMENT) {
                expectRefused(stage, path, body.getValue());
            }
            assertThat(posted).isEmpty();
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void malformed_isRefused_beforeItBecomesProtobuf(Map.Entry<String, byte[]> body) throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(new byte[0]));
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint())) {
            for (String path : MANAGEMENT) {
                expectRefused(stage, path, body.getValue());
            }
            assertThat(server.messages).isEmpty();
        }
    }

    @Test
    void emptyGenerate_isRefused_emptyManagementIsNot() throws Exception {
        try (FakeRestServer server = rest();
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint());
                Http1Client client = stage.http1()) {
            for (String path : GENERATE) {
                expectRefused(stage, path, new byte[0]);
            }
            assertThat(client.post("/v2/repository/models/m/unload", "")
                            .response()
                            .status())
                    .isEqualTo(200);
        }
    }

    @Test
    void generate_goesOnAsItCame() throws Exception {
        String body = " {\"text_input\" : \"\u00fc\\u20ac\", \"stop\":[1.50e0,[]],\"max_tokens\":7}\n";
        try (FakeRestServer server = rest();
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint());
                Http1Client http1 = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            String large = "{\"text_input\":\"" + "\u00fc".repeat(300_000) + "\"}";
            for (String each : List.of(body, large)) {
                String seen = new String(each.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
                assertThat(http1.post(GENERATE.getFirst(), each).response().status())
                        .isEqualTo(200);
                assertThat(FakeGrpcServer.next(posted)).isEqualTo(seen);
                assertThat(http2.post(GENERATE.getFirst(), each).head().status())
                        .hasToString("200");
                assertThat(FakeGrpcServer.next(posted)).isEqualTo(seen);
            }
        }
    }
}

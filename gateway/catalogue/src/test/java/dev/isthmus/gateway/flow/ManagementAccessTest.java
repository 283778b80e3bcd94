package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeV2Server;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations that change servers, on listeners that do not serve them, and lists of what is not routed. */
class ManagementAccessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Listener DEFAULT = Listener.DEFAULT.at("127.0.0.1", 0);
    static final List<ManageCase> CASES = ManageCase.ALL.stream()
            .filter(each -> !each.path().contains("/stats")
                    && !each.path().contains("/config")
                    && !each.path().endsWith("/index"))
            .toList();

    private static Stage stage(Listener listener, FakeGrpcServer server, @Nullable String fallback) throws Exception {
        UpstreamConfig upstream =
                TestConfigs.with(Stage.grpc(server, ServerDialect.TRITON), Map.of("sharedMemory", true));
        return stage(listener, Map.of("server", upstream), fallback);
    }

    private static Stage stage(Listener listener, Map<String, UpstreamConfig> upstreams, @Nullable String fallback)
            throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(listener);
        Map<String, Object> changed = new HashMap<>(Map.of(
                "upstreams", upstreams, "models", fallback == null ? Map.of("m", ModelConfig.of("server")) : Map.of()));
        changed.put("local", null);
        changed.put("defaultUpstream", fallback);
        return FleetStage.with(TestConfigs.with(config, changed));
    }

    private static FakeGrpcServer silent() throws Exception {
        return new FakeGrpcServer((call, message) -> call.sendMessage(new byte[0]));
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void management_byDefault_isRefusedOverRest(ManageCase operation) throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(DEFAULT, server, "server");
                Http1Client client = stage.http1()) {
            Http1Client.Response response = (operation.httpMethod().equals("GET")
                            ? client.get(operation.path())
                            : client.post(operation.path(), operation.json()))
                    .response();
            assertThat(response.status()).as(response.text()).isEqualTo(403);
            assertThat(response.text()).contains("not served on this address");
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void management_byDefault_isRefusedOverGrpc(ManageCase operation) throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(DEFAULT, server, "server")) {
            GrpcClient client = GrpcClient.ask(
                    stage.channel(),
                    operation.method(),
                    new Metadata(),
                    operation.requestMessage().toByteArray());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
        }
    }

    /** The whole message is larger than the gateway would read at once; it must not wait for it. */
    @Test
    void load_isRefused_beforeItsBodyIsRead() throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(DEFAULT, server, "server");
                Http1Client client = stage.http1()) {
            client.send("POST /v2/repository/models/m/load HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 1000000\r\n\r\n{");
            assertThat(client.response().status()).isEqualTo(403);
        }
    }

    /** @param fields each ends with a bar */
    private static Http1Client.Response load(String fields) throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(Stage.MANAGED, server, "server");
                Http1Client client = stage.http1()) {
            return client.send("POST /v2/repository/models/m/load HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                            + fields.replace("|", "\r\n") + "\r\n{}")
                    .response();
        }
    }

    /** As curl, Triton's C++ client and tritonclient.http.aio send it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Content-Type: application/json|",
                "Content-Type: application/octet-stream|",
                "Content-Type: application/x-www-form-urlencoded|",
                "Content-Type: text/plain; charset=utf-8|",
                "Content-Type: a|",
                "Content-Type: text/plain|Sec-Fetch-Site: none|",
                "Content-Type: text/plain|Sec-Fetch-Site: same-origin|",
                "Sec-Fetch-Site: none|",
            })
    void load_withAnyContentType_isServed(String fields) throws Exception {
        assertThat(load(fields).status()).isEqualTo(200);
    }

    /** The browser has sent a preflight first, which allowed the page to do this. */
    @ParameterizedTest
    @ValueSource(strings = {"application/json", "application/octet-stream", "application/vnd.x+json; charset=utf-8"})
    void load_ofAPage_withAContentTypeThatBrowsersAskFor_isServed(String type) throws Exception {
        assertThat(load("Origin: http://elsewhere|Content-Type: " + type + "|").status())
                .isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource({
        "text/plain, Origin: http://elsewhere",
        "text/plain, Origin: null",
        "text/plain, Sec-Fetch-Site: cross-site",
        "text/plain, Sec-Fetch-Site: same-site",
        "Text/PLAIN ; charset=utf-8, Origin: http://elsewhere",
        "text/html, Origin: http://elsewhere",
        "application/x-www-form-urlencoded, Origin: http://elsewhere",
        "Application/X-WWW-Form-Urlencoded;a=b, Sec-Fetch-Site: cross-site",
        "multipart/form-data; boundary=b, Origin: http://elsewhere",
        "; charset=utf-8, Origin: http://elsewhere",
        "'text/plain', 'Origin: http://elsewhere|Sec-Fetch-Site: same-origin'",
        "'text/plain', 'Sec-Fetch-Site: none|Sec-Fetch-Site: cross-site'",
    })
    void load_ofAPage_withTheContentTypeOfAForm_isRefused(String type, String fields) throws Exception {
        Http1Client.Response response = load("Content-Type: " + type + "|" + fields + "|");
        assertThat(response.status()).isEqualTo(415);
        assertThat(response.text()).contains("application/json");
    }

    @ParameterizedTest
    @ValueSource(strings = {"Origin: http://elsewhere|", "Sec-Fetch-Site: cross-site|"})
    void load_ofAPage_withoutContentType_isRefused(String fields) throws Exception {
        assertThat(load(fields).status()).isEqualTo(415);
    }

    @Test
    void lists_showOnlyRoutedModels() throws Exception {
        try (FakeV2Server one = FakeV2Server.grpc().with("m", "FP32").with("hidden", "FP32");
                FakeV2Server two = FakeV2Server.rest().with("m", "FP32").with("hidden", "FP32");
                Stage stage = stage(
                        DEFAULT,
                        Map.of(
                                "server", TestConfigs.upstream(one.protocol(), one.endpoint()),
                                "other", TestConfigs.upstream(two.protocol(), two.endpoint())),
                        null);
                Http1Client client = stage.http1()) {
            String path = "/v2/repository/index";
            await().atMost(PATIENCE)
                    .until(() -> client.post(path, "{}").response().text().contains("\"m\""));
            JsonNode rest = JSON.readTree(client.post(path, "{}").response().text());
            assertThat(rest.findValuesAsText("name")).containsOnly("m");
            byte[] request = RepositoryIndexRequest.getDefaultInstance().toByteArray();
            GrpcClient grpc = GrpcClient.ask(stage.channel(), "RepositoryIndex", new Metadata(), request);
            assertThat(RepositoryIndexResponse.parseFrom(grpc.response()).getModelsList())
                    .extracting(RepositoryIndexResponse.ModelIndex::getName)
                    .containsOnly("m");
            JsonNode statistics =
                    JSON.readTree(client.get("/v2/models/stats").response().text());
            assertThat(statistics.findValuesAsText("name")).doesNotContain("hidden");
        }
    }

    @Test
    void management_isOpenedByAReload_onTheSamePort() throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(DEFAULT, server, "server");
                Http1Client client = stage.http1()) {
            String load = "/v2/repository/models/m/load";
            assertThat(client.post(load, "").response().status()).isEqualTo(403);
            int port = stage.port();
            stage.proxy().reload(stage.proxy().config().withListener(Stage.MANAGED));
            assertThat(stage.port()).isEqualTo(port);
            assertThat(client.post(load, "").response().status()).isEqualTo(200);
        }
    }

    @Test
    void metadata_hidesExtensionsThatAreNotServed() throws Exception {
        try (FakeGrpcServer server = silent();
                Stage stage = stage(DEFAULT, server, "server");
                Http1Client client = stage.http1()) {
            String text = client.get("/v2").response().text();
            assertThat(text).contains("isthmus").doesNotContain("shared_memory", "logging", "\"trace\"");
        }
    }
}

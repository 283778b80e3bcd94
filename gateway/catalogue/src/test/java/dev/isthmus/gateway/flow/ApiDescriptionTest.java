package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What callers see of the gateway in its OpenAPI documents: what metadata show them. */
class ApiDescriptionTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String KEY = "key-of-alice";

    @TempDir
    Path folder = Path.of(".");

    private Stage callers(String rest) throws Exception {
        return callers("", rest);
    }

    private Stage callers(String listener, String rest) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(KEY.getBytes(StandardCharsets.UTF_8));
        Path keys = Files.writeString(folder.resolve("keys"), ApiKeyFile.line("alice", digest) + "\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-------"));
        return FleetStage.with(ConfigLoader.parse("test.yaml", """
                listeners: [{port: 0%s}]
                local: {embedded_models: true}
                default_upstream: local
                health: {warm_up: 0s}
                authentication: {api_keys: {file: keys}}
                """.formatted(listener) + rest, folder));
    }

    private static JsonNode document(Stage stage, String path, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response = client.get(path, headers).response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            assertThat(response.head().headers()).containsEntry("content-type", "application/json");
            return JSON.readTree(response.text());
        }
    }

    /** The document of the gateway, when it knows the extensions of its servers. */
    private static JsonNode described(Stage stage, String... headers) {
        return await().atMost(Duration.ofSeconds(20))
                .until(
                        () -> document(stage, "/openapi.json", headers),
                        document -> document.path("paths").has("/v2/repository/index"));
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }

    @Test
    void gateway_hasThePathsOfItsServers() throws Exception {
        try (Stage stage = FleetStage.local()) {
            JsonNode document = described(stage);
            assertThat(names(document.path("paths")))
                    .contains(
                            "/livez",
                            "/v2",
                            "/v2/health/ready",
                            "/openapi.json",
                            "/v2/models/{model}",
                            "/v2/models/{model}/versions/{version}/infer",
                            "/v2/models/{model}/generate_stream",
                            "/v2/models/stats",
                            "/v2/repository/{repository}/models/{model}/load")
                    .doesNotContain("/v2/cudasharedmemory/status");
            assertThat(document.has("security")).isFalse();
        }
    }

    @Test
    void names_haveLengthAndPattern() throws Exception {
        try (Stage stage = FleetStage.local()) {
            JsonNode document = described(stage);
            List<JsonNode> parameters = new ArrayList<>();
            document.path("paths").findValues("parameters").forEach(list -> list.forEach(parameters::add));
            parameters.removeIf(parameter -> !parameter.path("in").asText().equals("path"));
            assertThat(parameters)
                    .hasSizeGreaterThan(10)
                    .allSatisfy(parameter -> assertThat(names(parameter.path("schema")))
                            .containsExactly("type", "minLength", "maxLength", "pattern"));
            assertThat(document.at("/components/schemas/InferInput/properties/name/maxLength")
                            .intValue())
                    .isEqualTo(256);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/openapi.json, ~1v2~1models~1{model}~1infer_stream, InferResponse",
        "/openapi.json, ~1v2~1models~1{model}~1generate_stream, GenerateResponse",
        "/v2/models/simple/openapi.json, ~1v2~1models~1simple~1infer_stream, ModelInferResponse",
    })
    void events_haveTheirSchema(String of, String path, String response) throws Exception {
        try (Stage stage = FleetStage.local()) {
            JsonNode document = document(stage, of);
            JsonNode text = document.at("/paths/" + path + "/post/responses/200/content/text~1event-stream/schema");
            assertThat(text.at("/contentMediaType").asText()).isEqualTo("text/event-stream");
            assertThat(text.at("/contentSchema/items/$ref").asText())
                    .isEqualTo("#/components/schemas/" + response + "Event");
            JsonNode data = document.at("/components/schemas/" + response + "Event/properties/data");
            assertThat(data.findValuesAsText("$ref"))
                    .containsExactly("#/components/schemas/" + response, "#/components/schemas/Error");
        }
    }

    @Test
    void model_hasItsTensorsAndAnExample() throws Exception {
        try (Stage stage = FleetStage.local();
                Http1Client client = stage.http1()) {
            JsonNode document = document(stage, "/v2/models/simple/versions/1/openapi.json");
            assertThat(names(document.path("paths")))
                    .containsExactly(
                            "/v2/models/simple/versions/1",
                            "/v2/models/simple/versions/1/ready",
                            "/v2/models/simple/versions/1/infer",
                            "/v2/models/simple/versions/1/infer_stream");
            assertThat(document.at("/components/schemas/Input_INPUT0/properties/datatype/const")
                            .asText())
                    .isEqualTo("INT32");
            JsonNode example = document.at("/paths/~1v2~1models~1simple~1versions~11~1infer/post/requestBody/content"
                    + "/application~1json/example");
            assertThat(client.post("/v2/models/simple/versions/1/infer", example.toString())
                            .response()
                            .status())
                    .isEqualTo(200);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/v2/models/stranger", "/v2/models/simple/versions/9", "/v2/models/%2e%2e", "/v2/models/a%00"})
    void unknownModel_getsTheResponseOfMetadata(String path) throws Exception {
        try (Stage stage = FleetStage.local();
                Http1Client client = stage.http1()) {
            Http1Client.Response metadata = client.get(path).response();
            Http1Client.Response described = client.get(path + "/openapi.json").response();
            assertThat(metadata.status()).isBetween(400, 404);
            assertThat(described.status()).isEqualTo(metadata.status());
            assertThat(described.text()).isEqualTo(metadata.text());
        }
    }

    @Test
    void otherMethods_areNotAllowed() throws Exception {
        try (Stage stage = FleetStage.local();
                Http1Client client = stage.http1()) {
            for (String path : List.of("/openapi.json", "/v2/models/simple/openapi.json")) {
                Http1Client.Response response = client.post(path, "{}").response();
                assertThat(response.status()).isEqualTo(405);
                assertThat(response.head().headers()).containsEntry("allow", "GET");
            }
        }
    }

    @Test
    void callerWithoutCredential_seesNothing() throws Exception {
        try (Stage stage = callers("");
                Http1Client client = stage.http1()) {
            assertThat(client.get("/openapi.json").response().status()).isEqualTo(401);
            assertThat(client.get("/v2/models/simple/openapi.json").response().status())
                    .isEqualTo(401);
            JsonNode document = document(stage, "/openapi.json", "x-api-key: " + KEY);
            assertThat(document.path("security")).hasToString("[{\"api_key\":[]},{\"bearer\":[]}]");
            assertThat(document.at("/components/securitySchemes/api_key"))
                    .hasToString("{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"x-api-key\"}");
            assertThat(document.at("/paths/~1livez/get/security")).hasToString("[]");
            assertThat(document.at("/paths/~1v2/get/security").isMissingNode()).isTrue();
        }
    }

    @Test
    void rules_decideAsForMetadata() throws Exception {
        try (Stage stage = callers("""
                access:
                  rules:
                    - {name: alice, who: {names: [alice]}, may: [metadata], models: [simple]}
                """);
                Http1Client client = stage.http1()) {
            document(stage, "/v2/models/simple/openapi.json", "x-api-key: " + KEY);
            Http1Client.Response refused = client.get("/v2/models/digits/openapi.json", "x-api-key: " + KEY)
                    .response();
            assertThat(refused.status()).isEqualTo(403);
            assertThat(refused.text())
                    .isEqualTo(client.get("/v2/models/digits", "x-api-key: " + KEY)
                            .response()
                            .text());
            assertThat(names(described(stage, "x-api-key: " + KEY).path("paths")))
                    .contains("/v2/models/{model}/config", "/v2/repository/index")
                    .doesNotContain("/v2/models/stats");
        }
    }

    @Test
    void openListener_needsNoCredential() throws Exception {
        try (Stage stage = callers(", access: open", "")) {
            assertThat(document(stage, "/openapi.json").path("security"))
                    .hasToString("[{},{\"api_key\":[]},{\"bearer\":[]}]");
        }
    }
}

package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The documents of the pages Configuration and Live, of a gateway that was started with a file. */
class ConfigurationPageTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKEN = "a-long-secret";
    private static final String CONFIG = """
            listeners: [{port: 0}]
            admin: {port: 0, token_file: token}
            health: {warm_up: 0s}
            local: {embedded_models: true}
            models:
              digits: {upstream: local, timeout: 10s}
            """;

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client = HttpClient.newHttpClient();

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    @BeforeEach
    void start() throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN + "\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(file(), CONFIG);
        gateway =
                Gateway.start(new ConfigFile(List.of(file()), config -> config)).awaitLocalModels();
    }

    @AfterEach
    void close() {
        gateway.close();
        client.close();
    }

    private Path file() {
        return folder.resolve("isthmus.yaml");
    }

    private HttpResponse<String> send(String path, HttpRequest.Builder request) throws Exception {
        int port = gateway.adminAddress().orElseThrow().getPort();
        return client.send(
                request.uri(URI.create("http://127.0.0.1:" + port + path)).build(), BodyHandlers.ofString());
    }

    private JsonNode get(String path) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder().header("Authorization", "Bearer " + TOKEN);
        return JSON.readTree(send(path, request).body());
    }

    private JsonNode compare(String text) throws Exception {
        String body = JsonNodeFactory.instance.objectNode().put("text", text).toString();
        HttpRequest.Builder request = HttpRequest.newBuilder()
                .header("Authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.ofString(body));
        return JSON.readTree(send("/console/configuration/compare", request).body());
    }

    private static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(each -> texts.add(each.asText()));
        return texts;
    }

    private void reload(String text) throws IOException {
        Files.writeString(file(), text);
        gateway.reload();
    }

    @Test
    void effectiveFile_saysWhatIsSet() throws Exception {
        JsonNode page = get("/console/configuration");
        assertThat(page.path("generation").asInt()).isEqualTo(1);
        assertThat(page.path("from_file").asBoolean()).isTrue();
        List<String> set = new ArrayList<>();
        List<String> byDefault = new ArrayList<>();
        page.path("lines")
                .forEach(line -> (line.path("set").asBoolean() ? set : byDefault)
                        .add(line.path("text").asText()));
        assertThat(set).contains("models:", "  digits:", "    timeout: 10s", "  warm_up: 0s", "    port: 0");
        assertThat(set).noneMatch(line -> line.contains("max_body_size"));
        assertThat(byDefault).contains("limits:", "  max_body_size: 64MiB");
        assertThat(page.toString()).doesNotContain(TOKEN);
        assertThat(page.path("applied").isNull()).isTrue();
        assertThat(page.path("rejected").isNull()).isTrue();
    }

    @Test
    void lastReloads_areKeptApart() throws Exception {
        reload(CONFIG.replace("timeout: 10s", "timeout: 20s"));
        reload(CONFIG + "limits:\n  max_body_size: big\n  max_requests: 0\n");
        JsonNode page = get("/console/configuration");
        assertThat(texts(page.path("applied").path("changes"))).containsExactly("model 'digits': timeout: 10s -> 20s");
        JsonNode problems = page.path("rejected").path("problems");
        assertThat(problems.findValuesAsText("line")).containsExactly("8", "9");
        assertThat(problems.path(0).path("message").asText())
                .contains("max_body_size")
                .doesNotContain("isthmus.yaml");
        assertThat(page.path("rejected").path("time").asText())
                .isGreaterThan(page.path("applied").path("time").asText());
    }

    @Test
    void comparison_changesNothing() throws Exception {
        JsonNode result =
                compare(CONFIG.replace("timeout: 10s", "timeout: 20s").replace("port: 0, tok", "port: 1, tok"));
        assertThat(result.path("problems")).isEmpty();
        assertThat(texts(result.path("changes"))).containsExactly("model 'digits': timeout: 10s -> 20s");
        assertThat(texts(result.path("effects"))).isEmpty();
        assertThat(texts(result.path("after_restart"))).containsExactly("admin: port: 0 -> 1");
        assertThat(Objects.requireNonNull(gateway.config().models().get("digits"))
                        .timeout())
                .hasSeconds(10);
        assertThat(get("/console/configuration").path("applied").isNull()).isTrue();
        // Files are found beside the running file.
        assertThat(compare(CONFIG).path("changes")).isEmpty();
    }

    @Test
    void comparisonOfAnInvalidFile_namesItsLines_andShowsNoFiles() throws Exception {
        Path secret = Files.writeString(folder.resolve("keys"), "the-secret-of-a-file\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        JsonNode result = compare(CONFIG + "authentication:\n  api_keys: {file: keys}\nmodles: {}\n");
        assertThat(result.path("problems").findValuesAsText("line")).contains("8", "9");
        assertThat(result.toString()).contains("did you mean 'models'?").doesNotContain("the-secret");
        assertThat(compare(": [").path("problems")).hasSize(1);
    }

    @Test
    void comparison_needsTheTokenAndABound() throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder().POST(BodyPublishers.ofString("{\"text\":\"\"}"));
        assertThat(send("/console/configuration/compare", request).statusCode()).isEqualTo(401);
        HttpRequest.Builder malformed = HttpRequest.newBuilder()
                .header("Authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.ofString("text"));
        assertThat(send("/console/configuration/compare", malformed).statusCode())
                .isEqualTo(400);
        HttpRequest.Builder large = HttpRequest.newBuilder()
                .header("Authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.ofString("{\"text\":\"" + "x".repeat(70_000) + "\"}"));
        assertThat(send("/console/configuration/compare", large).statusCode()).isEqualTo(413);
    }

    @Test
    void calls_areShownWhileThePageAsks() throws Exception {
        assertThat(send("/debug/calls?view=page-one", HttpRequest.newBuilder()).statusCode())
                .isEqualTo(401);
        assertThat(get("/debug/calls?view=page-one").path("calls")).isEmpty();
        int port = gateway.addresses().getFirst().getPort();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v2/models/digits/infer"))
                .header("x-secret", "of the client")
                .POST(BodyPublishers.ofString("{\"inputs\":[]}"))
                .build();
        assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(400);
        // A call ends after its response was written.
        JsonNode calls =
                await().until(() -> get("/debug/calls?view=page-one&after=0").path("calls"), all -> !all.isEmpty());
        assertThat(calls.path(0).path("code").asText()).isEqualTo("INVALID_ARGUMENT");
        assertThat(calls.path(0).path("model").asText()).isEqualTo("digits");
        assertThat(calls.path(0).path("reason").asText()).isNotEmpty();
        assertThat(calls.toString()).doesNotContain("of the client");
        assertThat(get("/debug/calls?view=page-one&outcome=failed&model=none").path("calls"))
                .isEmpty();
        assertThat(get("/debug/calls?view=!").path("error").asText()).contains("parameter 'view'");
    }
}

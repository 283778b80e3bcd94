package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What removes cached responses: operators, and calls that load or unload a model. */
class CachePurgeTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CONFIG = """
            listeners: [{port: 0, management: allow}]
            admin: {port: 0, token_file: token}
            local: {embedded_models: true, model_control: explicit, load: ["*"]}
            models:
              simple: {upstream: local, aliases: [other], cache: {}}
              "dig*": {upstream: local, cache: {}}
              "same*": {upstream: local, model: simple, cache: {}}
            """;
    private static final String REQUEST = """
            {"inputs": [{"name": "INPUT0", "datatype": "INT32", "shape": [1, 16], "data": [1, 2, 3, 4, 5, 6, 7, 8, 9,
            10, 11, 12, 13, 14, 15, 16]}, {"name": "INPUT1", "datatype": "INT32", "shape": [1, 16], "data": [1, 2, 3, 4,
            5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}]}
            """;

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    @BeforeEach
    void start() throws Exception {
        Path token = Files.writeString(folder.resolve("token"), "the-operator\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        gateway = Gateway.start(ConfigLoader.parse("isthmus.yaml", CONFIG, folder));
    }

    @AfterEach
    void close() {
        gateway.close();
        client.close();
    }

    private HttpResponse<String> send(InetSocketAddress address, String method, String path, String body)
            throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + address.getPort() + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .header("Authorization", "Bearer the-operator")
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> admin(String method, String path) throws Exception {
        return send(gateway.adminAddress().orElseThrow(), method, path, "");
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        return send(gateway.addresses().getFirst(), "POST", path, body);
    }

    /** Sends the request; whether its response was cached. */
    private boolean hits() throws Exception {
        return hits("simple");
    }

    private boolean hits(String model) throws Exception {
        HttpResponse<String> response = post("/v2/models/" + model + "/infer", REQUEST);
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return response.headers().firstValue("cache-status").orElseThrow().contains("hit");
    }

    @Test
    void operator_purgesAModel() throws Exception {
        assertThat(hits()).isFalse();
        assertThat(hits()).isTrue();
        JsonNode shown = JSON.readTree(admin("GET", "/cache").body()).path("models");
        assertThat(shown.findValuesAsText("model")).containsExactly("dig*", "same*", "simple");
        assertThat(shown.path(2).path("entries").asInt()).isEqualTo(1);
        assertThat(shown.path(2).path("hit").asInt()).isEqualTo(1);
        assertThat(shown.path(2).path("bytes").asInt()).isBetween(100, 2000);

        HttpResponse<String> purged = admin("POST", "/cache/simple/purge");
        assertThat(purged.statusCode()).isEqualTo(200);
        assertThat(JSON.readTree(purged.body()).path("purged").asInt()).isEqualTo(1);
        assertThat(hits()).isFalse();
        JsonNode entry = JSON.readTree(admin("GET", "/audit?limit=1").body())
                .path("entries")
                .path(0);
        assertThat(entry.path("action").asText()).isEqualTo("cache purge");
        assertThat(entry.path("subject").asText()).isEqualTo("simple");
    }

    /** Requests by any name of a server's model get the same responses. */
    @Test
    void aliasAndNameOfAPattern_standForAllNamesOfTheModel() throws Exception {
        for (String name : List.of("other", "same-2")) {
            assertThat(hits("same-1")).isFalse();
            assertThat(hits("same-2")).isTrue();
            assertThat(hits()).isFalse();
            assertThat(JSON.readTree(admin("POST", "/cache/" + name + "/purge").body())
                            .path("purged")
                            .asInt())
                    .isEqualTo(2);
        }
        assertThat(hits("same-1")).isFalse();
        assertThat(post("/v2/repository/models/same-3/load", "").statusCode()).isEqualTo(200);
        assertThat(hits("same-1")).isFalse();
    }

    @Test
    void unknownModelsAndActions_areRefused() throws Exception {
        assertThat(admin("POST", "/cache/unknown/purge").statusCode()).isEqualTo(404);
        assertThat(admin("POST", "/cache/simple/clear").statusCode()).isEqualTo(404);
        assertThat(admin("POST", "/cache/purge").statusCode()).isEqualTo(404);
        assertThat(admin("POST", "/cache/dig%2A/purge").statusCode()).isEqualTo(200);
    }

    @Test
    void loadAndUnload_removeResponses_byAnyNameOfTheModel() throws Exception {
        for (String name : List.of("simple", "other")) {
            assertThat(hits()).isFalse();
            assertThat(hits()).isTrue();
            assertThat(post("/v2/repository/models/" + name + "/load", "").statusCode())
                    .isEqualTo(200);
        }
        assertThat(hits()).isFalse();
        assertThat(post("/v2/repository/models/simple/unload", "").statusCode()).isEqualTo(200);
        assertThat(post("/v2/models/simple/infer", REQUEST).statusCode()).isGreaterThanOrEqualTo(400);
    }
}

package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.settings.ApiKeyFile;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may do what on the admin address of a gateway, and what is recorded of it. */
class AuditTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CONFIG = """
            listeners: [{port: 0, management: allow}]
            admin:
              port: 0
              token_file: admin.token
              tokens:
                dashboard: {file: dashboard.token, role: read}
                alice: {file: alice.token, role: operate}
            authentication: {api_keys: {file: keys}}
            health: {warm_up: 0s}
            local: {embedded_models: true}
            models:
              digits:
                targets: [{name: old, upstream: local, weight: 100}, {name: new, upstream: local, weight: 0}]
                ramp: {target: new, steps: [1%], interval: 10m}
              simple: {upstream: local}
            """;

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Path file;

    @BeforeEach
    void start() throws Exception {
        secret("admin.token", "the-administrator");
        secret("dashboard.token", "only-looks");
        secret("alice.token", "is-on-call");
        byte[] hash = MessageDigest.getInstance("SHA-256").digest("key-of-ml".getBytes(StandardCharsets.UTF_8));
        secret("keys", ApiKeyFile.line("ml-team", hash));
        file = Files.writeString(folder.resolve("isthmus.yaml"), CONFIG);
        gateway = Gateway.start(new ConfigFile(List.of(file), given -> given));
        gateway.awaitLocalModels();
    }

    private void secret(String name, String text) throws Exception {
        Path path = Files.writeString(folder.resolve(name), text + "\n");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    }

    @AfterEach
    void close() {
        gateway.close();
        client.close();
    }

    private HttpResponse<String> send(InetSocketAddress address, String method, String path, String token)
            throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + address.getPort() + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .header("Authorization", "Bearer " + token)
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> admin(String method, String path, String token) throws Exception {
        return send(gateway.adminAddress().orElseThrow(), method, path, token);
    }

    /** The last entry. */
    private JsonNode last() throws Exception {
        return JSON.readTree(admin("GET", "/audit?limit=1", "only-looks").body())
                .path("entries")
                .path(0);
    }

    private static String text(JsonNode entry, String... names) {
        return String.join(
                "|",
                List.of(names).stream().map(each -> entry.path(each).asText()).toList());
    }

    @Test
    void ramp_hasOperator_address_beforeAndAfter() throws Exception {
        assertThat(admin("POST", "/ramps/digits/rollback", "is-on-call").statusCode())
                .isEqualTo(200);
        JsonNode entry = last();
        assertThat(text(entry, "by", "who", "role", "action", "subject", "before", "after", "done"))
                .isEqualTo("operator|alice|operate|ramp rollback|digits|running at 1.000 % of new|rolled_back|true");
        assertThat(entry.path("from").asText()).startsWith("127.0.0.1:");
    }

    @Test
    void refusal_isRecordedWithItsReason() throws Exception {
        assertThat(admin("POST", "/ramps/unknown/pause", "is-on-call").statusCode())
                .isGreaterThanOrEqualTo(400);
        assertThat(text(last(), "who", "action", "subject", "done")).isEqualTo("alice|ramp|unknown/pause|false");
        assertThat(last().path("failure").asText()).contains("unknown");

        assertThat(admin("POST", "/reload", "only-looks").statusCode()).isEqualTo(403);
        assertThat(text(last(), "who", "action", "failure"))
                .isEqualTo("dashboard|reload|the role operate is needed; 'dashboard' has the role read");
    }

    @Test
    void reload_isOfTheOperator_orOfTheProcess() throws Exception {
        Files.writeString(file, CONFIG.replace("simple: {upstream: local}", "simple: {upstream: local, timeout: 7s}"));
        gateway.reload("a changed file");
        assertThat(text(last(), "by", "who", "from", "action", "before", "after"))
                .isEqualTo("process|isthmus|a changed file|reload|generation 1"
                        + "|generation 2: model 'simple': timeout: none -> 7s");
        Files.writeString(file, "modles: {}");
        assertThat(admin("POST", "/reload", "the-administrator").statusCode()).isEqualTo(422);
        assertThat(text(last(), "who", "action", "done")).isEqualTo("admin|reload|false");
        assertThat(last().path("failure").asText()).contains("unknown key 'modles'");
    }

    @Test
    void load_isOfTheCaller_ofTheListener() throws Exception {
        InetSocketAddress listener = gateway.addresses().getFirst();
        send(listener, "POST", "/v2/repository/models/simple/unload", "key-of-ml");
        // A call ends after its response was written.
        JsonNode entry =
                await().until(this::last, each -> each.path("by").asText().equals("caller"));
        assertThat(text(entry, "by", "who", "action", "subject", "done"))
                .isEqualTo("caller|ml-team|model unload|simple|false");
        assertThat(entry.path("failure").asText()).isNotEmpty();
        assertThat(entry.path("from").asText()).startsWith("127.0.0.1:");

        send(listener, "POST", "/v2/repository/index", "key-of-ml");
        send(listener, "POST", "/v2/repository/models/simple/load", "a-wrong-key");
        assertThat(last()).as("neither changes anything").isEqualTo(entry);
    }

    @ParameterizedTest
    @CsvSource({
        "GET,/debug/errors,200,200,200",
        "GET,/audit,200,200,200",
        "GET,/debug/heap?classes=1,403,200,200",
        "POST,/reload,403,200,200",
        "POST,/console/try,403,400,400",
        "POST,/console/try/commands,400,400,400",
        "GET,/debug/jfr?seconds=0,403,403,400",
        "POST,/console/configuration/compare,403,403,400",
    })
    void role_decidesForEachRoute(String method, String path, int reads, int operates, int administers)
            throws Exception {
        assertThat(admin(method, path, "only-looks").statusCode()).isEqualTo(reads);
        assertThat(admin(method, path, "is-on-call").statusCode()).isEqualTo(operates);
        assertThat(admin(method, path, "the-administrator").statusCode()).isEqualTo(administers);
        assertThat(admin(method, path, "somebody").statusCode()).isEqualTo(401);
    }

    @Test
    void secrets_areNowhere() throws Exception {
        admin("POST", "/reload", "is-on-call");
        for (String path : List.of("/audit", "/config", "/session", "/console/configuration")) {
            assertThat(admin("GET", path, "the-administrator").body())
                    .doesNotContain("the-administrator", "only-looks", "is-on-call", "key-of-ml");
        }
    }
}

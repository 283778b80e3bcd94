package dev.isthmus.gateway.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.PeersConfig;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that ask each other how they are. */
class PeersTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String MODELS = "models: {digits: {upstream: local}}\n";

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client = HttpClient.newHttpClient();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : open) {
            each.close();
        }
        client.close();
    }

    /** @param admin further keys of the section; begins with a comma, or is empty */
    private Gateway gateway(String admin, String rest) throws Exception {
        return gateway(admin, 0, rest);
    }

    private Gateway gateway(String admin, int port, String rest) throws Exception {
        Gateway gateway = Gateway.start(ConfigLoader.parse(
                "test.yaml",
                "listeners: [{port: 0}]\nadmin: {port: " + port + admin + "}\nhealth: {warm_up: 0s}\n"
                        + "local: {embedded_models: true}\n" + rest,
                folder));
        open.add(gateway);
        return gateway;
    }

    private static String peers(String... endpoints) {
        return ", peers: {endpoints: [\"" + String.join("\", \"", endpoints) + "\"], timeout: 10s}";
    }

    private static String address(Gateway gateway) {
        return "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
    }

    private HttpResponse<String> get(Gateway gateway, String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address(gateway) + path))
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    /** What a gateway says of all, as soon as it is as expected. */
    private JsonNode document(Gateway gateway, Predicate<JsonNode> expected) {
        return await().atMost(PATIENCE)
                .until(() -> JSON.readTree(get(gateway, "/gateways").body()), expected);
    }

    private static JsonNode row(JsonNode document, String address) {
        for (JsonNode each : document.path("gateways")) {
            if (each.path("name").asText().equals(address)) {
                return each;
            }
        }
        throw new AssertionError(address + " is not in " + document);
    }

    private void infer(Gateway gateway, String model) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:"
                        + gateway.addresses().getFirst().getPort() + "/v2/models/" + model + "/infer"))
                .POST(HttpRequest.BodyPublishers.ofString("{\"inputs\": []}"))
                .build();
        client.send(request, HttpResponse.BodyHandlers.discarding());
    }

    @Test
    void gateways_areListedOnce_withTheirSums() throws Exception {
        Gateway second = gateway(", token_file: " + secret("second", "unused"), MODELS);
        Gateway first = gateway(
                peers(
                        address(second),
                        "localhost:" + second.adminAddress().orElseThrow().getPort()),
                MODELS);
        infer(first, "digits");
        infer(second, "digits");
        infer(second, "digits");

        JsonNode document = document(
                first,
                each -> each.path("traffic").path("calls").asInt() == 3
                        && each.path("models").path(0).path("calls").asInt() == 3);

        assertThat(document.path("all").asInt()).isEqualTo(2);
        assertThat(document.path("reached").asInt()).isEqualTo(2);
        JsonNode own = row(document, "this gateway");
        assertThat(own.path("self").asBoolean()).isTrue();
        JsonNode other = row(document, address(second));
        assertThat(other.path("ready").asBoolean()).isTrue();
        assertThat(other.path("calls").asInt()).isEqualTo(2);
        assertThat(other.path("console").asText()).isEqualTo("http://" + address(second) + "/");
        // Own addresses, and the token of its operators.
        assertThat(document.path("other_configuration").asInt()).isEqualTo(1);
        assertThat(document.path("other_version").asInt()).isZero();
    }

    @Test
    void aGatewayAmongItsPeers_isItself_andEqualConfigurationsDoNotDiffer() throws Exception {
        int port = TestConfigs.unusedEndpoint().port();
        Gateway gateway = gateway(peers("localhost:" + port), port, MODELS);

        JsonNode document = document(
                gateway,
                each -> each.path("all").asInt() == 1
                        && each.path("gateways").path(0).path("addresses").size() == 1);

        assertThat(document.path("gateways").path(0).path("self").asBoolean()).isTrue();
        assertThat(document.path("other_configuration").asInt()).isZero();
    }

    @Test
    void differences_areNamed_alsoAmongTheProblems() throws Exception {
        Gateway equal = gateway("", MODELS);
        Gateway other = gateway("", MODELS + "limits: {max_requests: 7}\n");
        Gateway first = gateway(peers(address(equal), address(other)), MODELS);

        JsonNode document = document(first, each -> each.path("reached").asInt() == 3);

        assertThat(row(document, address(other)).path("differs_in"))
                .containsExactly(JSON.getNodeFactory().textNode("limits"));
        assertThat(row(document, address(equal)).path("differs_in")).isEmpty();
        assertThat(row(document, address(other)).path("configuration"))
                .isNotEqualTo(row(document, address(equal)).path("configuration"));
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(get(first, "/problems").body())
                        .contains("1 of 3 gateways has another configuration: '" + address(other) + "'.")
                        .contains("gateways_differ", "'limits'"));
    }

    @Test
    void aGatewayThatCannotBeReached_isNotZero() throws Exception {
        String gone = TestConfigs.unusedEndpoint().authority();
        Gateway first = gateway(peers(gone, "no-such-name.invalid:9901"), MODELS);

        JsonNode document = document(first, each -> each.path("gateways").size() == 3);

        assertThat(document.path("reached").asInt()).isEqualTo(1);
        JsonNode row = row(document, gone);
        assertThat(row.path("reached").asBoolean()).isFalse();
        assertThat(row.path("failure").asText()).isNotEmpty();
        assertThat(row.has("calls")).isFalse();
        assertThat(row(document, "no-such-name.invalid:9901").path("failure").asText())
                .contains("DNS");
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(get(first, "/problems").body())
                        .contains("Gateway '" + gone + "' cannot be reached."));
    }

    @Test
    void answersOfOthers_areLimited() throws Exception {
        String huge = "{\"instance\": \"" + "x".repeat(300 * 1024) + "\", \"version\": \"1\", \"configuration\": {}}";
        try (FakeGateway text = new FakeGateway("no JSON");
                FakeGateway object = new FakeGateway("{}");
                FakeGateway long1 = new FakeGateway(huge);
                FakeGateway moved = new FakeGateway("").answering(302, "");
                FakeGateway hostile = new FakeGateway("""
                        {"instance": "a", "version": "%s", "configuration": {"models": ["x"]}, "started": 7,
                         "traffic": {"calls": -5, "rate": 1e300}, "models": [{"model": "m", "calls": 99999999999999999999}],
                         "ramps": "none", "ready": "perhaps"}""".formatted("v".repeat(1000)))) {
            Gateway first = gateway(
                    peers(text.address(), object.address(), long1.address(), moved.address(), hostile.address()),
                    MODELS);

            JsonNode document = document(first, each -> each.path("gateways").size() == 6);

            assertThat(row(document, text.address()).path("failure").asText()).isEqualTo("its answer is not JSON");
            assertThat(row(document, object.address()).path("failure").asText())
                    .isEqualTo("its answer is not one of a gateway");
            assertThat(row(document, long1.address()).path("reached").asBoolean())
                    .isFalse();
            assertThat(row(document, moved.address()).path("failure").asText())
                    .isEqualTo("GET /gateway: status 200 is expected, got 302");
            JsonNode row = row(document, hostile.address());
            assertThat(row.path("version").asText()).hasSize(257);
            assertThat(row.path("calls").asLong()).isZero();
            assertThat(row.path("rate").asDouble()).isZero();
            assertThat(row.path("ready").asBoolean()).isFalse();
        }
    }

    private Path secret(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    /** The certificate has a name, and the connection is made to an address. */
    @Test
    void tlsAndToken_areThoseOfTheSettings() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued issued = authority.issue("server", "gateways.example");
        Path operators = secret("operators", "long-secret-of-operators");
        Path reader = secret("reader", "long-secret-of-a-reader");
        String tls = ", host: 0.0.0.0, token_file: " + operators + ", tokens: {peers: {file: " + reader
                + ", role: read}}, tls: {certificates: [{certificate: " + issued.certificate() + ", key: "
                + issued.key()
                + "}]}";
        Gateway second = gateway(tls, MODELS);
        String secure =
                ", peers: {endpoints: [\"" + address(second) + "\"], timeout: 10s, tls: true, ca: " + authority.ca();

        Gateway trusted = gateway(secure + ", server_name: gateways.example, token_file: reader}", MODELS);
        Gateway otherName = gateway(secure + ", server_name: other.example, token_file: reader}", MODELS);
        Gateway withoutToken = gateway(secure + ", server_name: gateways.example}", MODELS);

        assertThat(document(trusted, each -> each.path("reached").asInt() == 2)
                        .path("all")
                        .asInt())
                .isEqualTo(2);
        assertThat(row(document(otherName, each -> each.path("gateways").size() == 2), address(second))
                        .path("failure")
                        .asText())
                .contains("certificate_unknown");
        assertThat(row(document(withoutToken, each -> each.path("gateways").size() == 2), address(second))
                        .path("failure")
                        .asText())
                .isEqualTo("it needs a token: admin.peers.token_file names its file");
    }

    @Test
    void withoutPeers_thereAreNoSuchPages() throws Exception {
        Gateway alone = gateway("", MODELS);

        assertThat(get(alone, "/gateways").statusCode()).isEqualTo(404);
        assertThat(get(alone, "/").body()).doesNotContain("#/gateways");
    }

    @Test
    void tokenThatIsNoText_isNamed() throws Exception {
        Path token = secret("binary", "");
        Files.write(token, new byte[] {(byte) 0xff});
        String config = """
                admin: {port: 0, peers: {endpoints: ["127.0.0.1:1"], token_file: binary}}
                local: {embedded_models: true}
                default_upstream: local
                """;
        AdminConfig admin = ConfigLoader.parse("test.yaml", config, folder).admin();
        PeersConfig peers = Objects.requireNonNull(Objects.requireNonNull(admin).peers());
        assertThatThrownBy(() -> new PeerClient(peers))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("admin.peers.token_file: ");

        Files.delete(token);
        Files.createDirectory(
                token, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        assertThatThrownBy(() -> new PeerClient(peers))
                .isInstanceOf(IOException.class)
                .hasMessage("admin.peers.token_file: the file cannot be read");
    }
}

package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that is taken out of service over the admin address of a gateway. */
class DrainTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeRestServer one;

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeRestServer two;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Path file;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    @BeforeEach
    void start() throws Exception {
        one = FakeRestServer.sending(response("one"));
        two = FakeRestServer.sending(response("two"));
        Path token = Files.writeString(folder.resolve("alice.token"), "is-on-call\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        file = folder.resolve("isthmus.yaml");
        write("");
        gateway = Gateway.start(new ConfigFile(List.of(file), given -> given));
    }

    private static String response(String text) {
        return FakeRestServer.ok("{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"BYTES\","
                + "\"shape\":[1],\"data\":[\"" + text + "\"]}]}");
    }

    private void write(String more) throws IOException {
        Files.writeString(
                file, """
                listeners: [{port: 0}]
                admin: {port: 0, tokens: {alice: {file: alice.token, role: operate}}}
                health: {warm_up: 0s}
                upstreams:
                  u: {protocol: rest, dialect: generic, endpoints: ["%s", "%s"]%s}
                default_upstream: u
                """.formatted(one.endpoint().authority(), two.endpoint().authority(), more));
    }

    @AfterEach
    void close() throws Exception {
        gateway.close();
        client.close();
        one.close();
        two.close();
    }

    private HttpResponse<String> send(InetSocketAddress to, String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + to.getPort() + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .header("Authorization", "Bearer is-on-call")
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> change(FakeRestServer server, String action) throws Exception {
        String address = URLEncoder.encode(server.endpoint().authority(), StandardCharsets.UTF_8);
        return send(gateway.adminAddress().orElseThrow(), "POST", "/servers/" + address + "/" + action, "");
    }

    private JsonNode admin(String path) throws Exception {
        return JSON.readTree(
                send(gateway.adminAddress().orElseThrow(), "GET", path, "").body());
    }

    private HttpResponse<String> infer() throws Exception {
        return send(
                gateway.addresses().getFirst(),
                "POST",
                "/v2/models/m/infer",
                "{\"inputs\": [{\"name\": \"a\", \"shape\": [1], \"datatype\": \"BOOL\", \"data\": [true]}]}");
    }

    private void expectAll(String text) throws Exception {
        for (int i = 0; i < 20; i++) {
            assertThat(infer().body()).contains(text);
        }
    }

    private void ready() {
        await().untilAsserted(() -> assertThat(admin("/servers").path("servers").findValues("ready"))
                .hasSize(2)
                .allMatch(JsonNode::asBoolean));
    }

    @Test
    void refusedChange_isInTheAuditLog_withItsReason() throws Exception {
        assertThat(change(one, "enable").statusCode()).isEqualTo(404);
        assertThat(change(one, "stop").statusCode()).isEqualTo(404);
        assertThat(admin("/audit").path("entries").findValuesAsText("failure"))
                .containsExactly(
                        "expected /servers/ADDRESS/ followed by drain or enable",
                        "no server at '" + one.endpoint().authority() + "' is drained");
    }

    @Test
    void drainedServer_getsNoCalls_whateverIsReloaded_andEveryPageSaysWhoAndWhy() throws Exception {
        ready();
        assertThat(change(one, "drain?reason=new%20driver").statusCode()).isEqualTo(200);
        expectAll("two");
        write(", timeout: 7s");
        assertThat(gateway.reload()).isInstanceOf(ReloadResult.Applied.class);
        expectAll("two");
        await().untilAsserted(() -> {
            JsonNode problem = admin("/problems").path("problems").path(0);
            assertThat(problem.path("kind").asText()).isEqualTo("server_drained");
            assertThat(problem.path("severity").asText()).isEqualTo("warning");
            assertThat(problem.path("cause").asText())
                    .matches("Drained by alice at 20\\S+Z: new driver\\. It gets no new calls;.*");
        });
        assertThat(admin("/servers").path("servers"))
                .filteredOn(each -> each.path("drained").asBoolean())
                .singleElement()
                .satisfies(each -> {
                    assertThat(each.path("server").asText())
                            .isEqualTo(one.endpoint().authority());
                    assertThat(each.path("reason").asText()).matches("drained by alice at 20\\S+Z: new driver");
                });
        JsonNode entry = admin("/audit?limit=1").path("entries").path(0);
        assertThat(entry.path("who").asText()).isEqualTo("alice");
        assertThat(entry.path("action").asText()).isEqualTo("server drain");
        assertThat(entry.path("subject").asText()).isEqualTo(one.endpoint().authority());
        assertThat(entry.path("after").asText()).endsWith("new driver");
        assertThat(change(one, "enable").statusCode()).isEqualTo(200);
        ready();
        await().untilAsserted(() -> assertThat(infer().body()).contains("one"));
    }

    @Test
    void lastServer_isDrainedOnlyByForce_andCallsAreRefused() throws Exception {
        ready();
        assertThat(change(one, "drain").statusCode()).isEqualTo(200);
        HttpResponse<String> refused = change(two, "drain");
        assertThat(refused.statusCode()).isEqualTo(409);
        assertThat(refused.body()).contains("no other server of upstream 'u' is ready");
        expectAll("two");
        JsonNode entry = admin("/audit?limit=1").path("entries").path(0);
        assertThat(entry.path("done").asBoolean(true)).isFalse();
        assertThat(entry.path("failure").asText()).contains("no other server");
        assertThat(change(two, "drain?force=true").statusCode()).isEqualTo(200);
        assertThat(infer().statusCode()).isEqualTo(503);
        assertThat(change(two, "enable").statusCode()).isEqualTo(200);
        expectAll("two");
    }

    @Test
    void mistakes_areRefused() throws Exception {
        ready();
        InetSocketAddress admin = gateway.adminAddress().orElseThrow();
        HttpResponse<String> unknown = send(admin, "POST", "/servers/10.0.0.1%3A8001/drain?force=true", "");
        assertThat(unknown.statusCode()).isEqualTo(404);
        assertThat(unknown.body()).contains("no upstream has a server at '10.0.0.1:8001'");
        assertThat(change(one, "enable").statusCode()).isEqualTo(404);
        assertThat(change(one, "restart").statusCode()).isEqualTo(404);
        assertThat(change(one, "drain?reason=a%0Ab").statusCode()).isEqualTo(400);
        assertThat(change(one, "drain?force=perhaps").statusCode()).isEqualTo(400);
        assertThat(admin("/servers").path("servers").findValues("drained")).noneMatch(JsonNode::asBoolean);
    }
}

package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Limits;
import dev.isthmus.gateway.settings.Http2Abuse;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdminServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKEN = "a-long-secret";

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final AtomicReference<ConfigSource> source = new AtomicReference<>(GatewayConfig::embedded);

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    private GatewayConfig config = GatewayConfig.embedded();

    @BeforeEach
    void start() throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN + "\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        start(DefaultValues.with(AdminConfig.DEFAULT, "port", 0, "tokenFile", token));
    }

    private void start(AdminConfig admin) throws Exception {
        config = TestConfigs.with(
                GatewayConfig.embedded()
                        .withListener(Listener.DEFAULT.at("127.0.0.1", 0))
                        .withAdmin(admin),
                Map.of("models", Map.of("digits", ModelConfig.of("local"))));
        source.set(() -> config);
        gateway = Gateway.start(() -> source.get().load());
        gateway.awaitLocalModels();
    }

    @AfterEach
    void close() {
        gateway.close();
        client.close();
    }

    private HttpResponse<String> get(String path) throws Exception {
        return send(HttpRequest.newBuilder(uri(path)));
    }

    private HttpResponse<String> post(String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri(path)).POST(BodyPublishers.ofString("hello"));
        return send(headers.length == 0 ? request : request.headers(headers));
    }

    private HttpResponse<String> reload() throws Exception {
        return post("/reload", "Authorization", "Bearer " + TOKEN);
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), BodyHandlers.ofString());
    }

    private InetSocketAddress address() {
        return gateway.adminAddress().orElseThrow();
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + address().getPort() + path);
    }

    private static JsonNode json(HttpResponse<String> response) throws IOException {
        return JSON.readTree(response.body());
    }

    private static void expectError(HttpResponse<String> response, int status, String text) throws IOException {
        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(json(response).path("error").asText()).contains(text);
    }

    @Test
    void metrics_haveTheNamesOfPrometheus() throws Exception {
        int port = gateway.addresses().get(0).getPort();
        send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v2/models/digits")));
        send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v2/models/stranger")));
        reload();
        HttpResponse<String> response = get("/metrics");
        assertThat(response.headers().firstValue("content-type").orElse("")).startsWith("text/plain; version=0.0.4");
        // A call ends after its response was written.
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(get("/metrics").body())
                        .contains("isthmus_config_reloads_total{result=\"applied\"} 1.0")
                        .contains("isthmus_config_reloads_total{result=\"rejected\"} 0.0")
                        .contains("isthmus_config_generation 1.0")
                        .contains("isthmus_config_last_reload_success 1.0")
                        .contains("isthmus_requests_under_way{protocol=\"rest\"} 0.0")
                        .contains(
                                "isthmus_requests_seconds_count{code=\"OK\",model=\"digits\",operation=\"model_metadata\","
                                        + "protocol=\"rest\"} 1")
                        .contains("isthmus_requests_seconds_bucket{code=\"NOT_FOUND\",model=\"default\","
                                + "operation=\"model_metadata\",protocol=\"rest\",le=\"5.0E-4\"}")
                        .contains("isthmus_request_phase_seconds_count{")
                        .contains("isthmus_request_bytes_total{")
                        .contains("isthmus_response_bytes_total{")
                        .contains("isthmus_buffers_direct_bytes ")
                        .contains("jvm_memory_used_bytes{")
                        .contains("jvm_threads_live_threads "));
    }

    @Test
    void health_isTheGateways() throws Exception {
        assertThat(get("/live").statusCode()).isEqualTo(200);
        await().atMost(Duration.ofSeconds(20)).until(() -> get("/ready").statusCode() == 200);
    }

    @Test
    void config_isTheActiveOne() throws Exception {
        JsonNode document = json(get("/config"));
        assertThat(document.path("generation").asInt()).isEqualTo(1);
        assertThat(document.path("loaded_seconds_ago").isInt()).isTrue();
        assertThat(document.at("/config/models/digits/upstream").asText()).isEqualTo("local");
        assertThat(document.toString()).doesNotContain(TOKEN);
    }

    @Test
    void reload_tellsWhatChanged() throws Exception {
        source.set(() -> TestConfigs.with(
                config,
                Map.of(
                        "limits",
                        new Limits(
                                1 << 20,
                                64 << 10,
                                8 << 20,
                                100,
                                7,
                                10_000,
                                0.5,
                                4096,
                                5,
                                DefaultValues.of(Http2Abuse.class)))));
        HttpResponse<String> response = reload();
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(json(response).path("generation").asInt()).isEqualTo(2);
        assertThat(json(response).path("changes"))
                .extracting(JsonNode::asText)
                .contains("limits: max_concurrent_streams: 100 -> 7");
        assertThat(json(get("/config"))
                        .at("/config/limits/max_concurrent_streams")
                        .asInt())
                .isEqualTo(7);
    }

    @Test
    void reload_ofSomethingWrong_tellsAllProblems() throws Exception {
        source.set(() -> {
            throw new ConfigException(List.of("file:1:1: this", "file:2:1: that"));
        });
        HttpResponse<String> response = reload();
        assertThat(response.statusCode()).isEqualTo(422);
        assertThat(json(response).path("problems"))
                .extracting(JsonNode::asText)
                .containsExactly("file:1:1: this", "file:2:1: that");
        assertThat(get("/metrics").body())
                .contains("isthmus_config_reloads_total{result=\"rejected\"} 1.0")
                .contains("isthmus_config_last_reload_success 0.0");
    }

    @Test
    void reload_ofWhatCannotBeHere_isAConflict() throws Exception {
        source.set(() ->
                config.withListener(Listener.DEFAULT.at("127.0.0.1", address().getPort())));
        HttpResponse<String> response = reload();
        assertThat(response.statusCode()).isEqualTo(409);
        assertThat(json(response).path("problems")).hasSize(1);
    }

    @Test
    void change_withoutTheToken_isRefused() throws Exception {
        expectError(post("/reload"), 401, "Bearer");
        expectError(post("/reload", "Authorization", "Bearer wrong"), 401, "the token is wrong");
        expectError(post("/reload", "Authorization", "Basic " + TOKEN), 401, "Bearer");
    }

    @Test
    void token_replacedInItsFile_counts() throws Exception {
        Files.writeString(folder.resolve("token"), "another");
        expectError(reload(), 401, "the token is wrong");
        assertThat(post("/reload", "Authorization", "bearer another").statusCode())
                .isEqualTo(200);
        Files.delete(folder.resolve("token"));
        expectError(post("/reload", "Authorization", "bearer another"), 503, "cannot be read");
    }

    @Test
    void change_whereNoTokenIsConfigured_isRefused() throws Exception {
        gateway.close();
        start(DefaultValues.with(AdminConfig.DEFAULT, "port", 0));
        expectError(post("/reload", "Authorization", "Bearer "), 403, "token_file");
    }

    @Test
    void openAddress_withoutAToken_isNotListenedOn() {
        GatewayConfig open = config.withAdmin(DefaultValues.with(AdminConfig.DEFAULT, "host", "0.0.0.0", "port", 0));
        assertThatThrownBy(() -> Gateway.start(open))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("token_file");
    }

    @Test
    void routes_ofOthers_areServed() throws Exception {
        gateway.adminRoutes()
                .route(
                        "GET",
                        "/things/*",
                        request -> AdminResponse.json(200, Map.of("tail", request.tail(), "q", request.query())))
                .route("POST", "/things", request -> AdminResponse.json(201, Map.of("body", request.body())))
                .route("GET", "/refused", request -> {
                    throw new OipException(ErrorCode.NOT_FOUND, "no such thing");
                })
                .route("GET", "/faulty", request -> {
                    throw new IllegalStateException("a fault with secrets");
                });
        assertThat(json(get("/things/a%2Fb%20c/d?x=1")))
                .isEqualTo(JSON.readTree("{\"tail\":\"a/b c/d\",\"q\":{\"x\":[\"1\"]}}"));
        assertThat(json(post("/things", "Authorization", "Bearer " + TOKEN))
                        .path("body")
                        .asText())
                .isEqualTo("hello");
        expectError(get("/refused"), 404, "no such thing");
        HttpResponse<String> fault = get("/faulty");
        expectError(fault, 500, "internal error");
        assertThat(fault.body()).doesNotContain("secrets");
    }

    @Test
    void unknown_getsJson() throws Exception {
        HttpResponse<String> unknown = get("/nothing");
        expectError(unknown, 404, "unknown path");
        assertThat(json(unknown).path("paths")).extracting(JsonNode::asText).contains("GET /metrics", "POST /reload");
        expectError(get("/reload"), 405, "POST");
        assertThat(get("/reload").headers().firstValue("allow")).hasValue("POST");
    }

    @Test
    void body_aboveTheLimit_isRefused() throws Exception {
        HttpRequest.Builder large = HttpRequest.newBuilder(uri("/reload"))
                .header("Authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.ofByteArray(new byte[70_000]));
        assertThat(send(large).statusCode()).isEqualTo(413);
    }

    @Test
    void requests_malformedOrImpatient_closeTheConnection() throws Exception {
        assertThat(raw("GET /live HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n"))
                .contains(" 400 ");
        assertThat(
                        raw(
                                "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"))
                .contains(" 400 ");
        String live = "GET /live HTTP/1.1\r\nHost: localhost\r\n";
        assertThat(raw(live + "\r\n" + live + "\r\n" + live + "Connection: close\r\n\r\n"))
                .isEmpty();
    }

    /** Everything until the server closes. */
    private String raw(String request) throws IOException {
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), address().getPort())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }

    /** A connection whose request is handled has no timeout: without a response it would stay open for ever. */
    @Test
    void route_thatEndsWithAnError_isAnswered() throws Exception {
        gateway.adminRoutes()
                .route("GET", "/open", RouteAccess.OPEN, request -> {
                    throw new StackOverflowError();
                })
                .change("POST", "/changed", RouteAccess.ADMIN, "change", request -> {
                    throw new AssertionError("a fault with secrets");
                });
        Duration limit = Duration.ofSeconds(20);
        expectError(send(HttpRequest.newBuilder(uri("/open")).timeout(limit)), 500, "internal error");
        HttpRequest.Builder change = HttpRequest.newBuilder(uri("/changed"))
                .POST(BodyPublishers.noBody())
                .header("Authorization", "Bearer " + TOKEN)
                .timeout(limit);
        expectError(send(change), 500, "internal error");
        JsonNode last = json(send(HttpRequest.newBuilder(uri("/audit")).header("Authorization", "Bearer " + TOKEN)))
                .path("entries")
                .path(0);
        assertThat(last.path("action").asText()).isEqualTo("change");
        assertThat(last.path("failure").asText()).isEqualTo("internal error");
    }

    @Test
    void head_hasNoBody_andTheNextResponseIsThatOfTheNextRequest() throws Exception {
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), address().getPort())) {
            socket.setSoTimeout(20_000);
            String host = " HTTP/1.1\r\nHost: localhost\r\n";
            socket.getOutputStream().write(("HEAD /live" + host + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
            String head = head(socket);
            assertThat(head).startsWith("HTTP/1.1 405 ").contains("content-length: ");
            socket.getOutputStream()
                    .write(("GET /live" + host + "Connection: close\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                    .startsWith("HTTP/1.1 200 ");
        }
    }

    /** Whoever has no token could keep out operators, probes and Prometheus. */
    @Test
    void connections_thatWaitForARequest_giveWayToOthers() throws Exception {
        List<Socket> waiting = new ArrayList<>();
        try {
            for (int i = 0; i < 64; i++) {
                Socket socket =
                        new Socket(InetAddress.getLoopbackAddress(), address().getPort());
                waiting.add(socket);
                socket.setSoTimeout(20_000);
                socket.getOutputStream()
                        .write("HEAD /live HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
                assertThat(head(socket)).startsWith("HTTP/1.1 405 ");
            }
            assertThat(get("/live").statusCode()).isEqualTo(200);
            assertThat(waiting.getFirst().getInputStream().read()).isEqualTo(-1);
        } finally {
            for (Socket each : waiting) {
                each.close();
            }
        }
    }

    /** The next bytes until an empty line. */
    private static String head(Socket socket) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            head.append((char) socket.getInputStream().read());
        }
        return head.toString();
    }

    /** The few threads of the admin address are not those of requests that wait for each other. */
    @Test
    void reload_whileAnotherOneIsUnderWay_isRefused() throws Exception {
        CountDownLatch loading = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        source.set(() -> {
            loading.countDown();
            try {
                assertThat(goesOn.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return config;
        });
        HttpRequest.Builder reload = HttpRequest.newBuilder(uri("/reload"))
                .POST(BodyPublishers.noBody())
                .header("Authorization", "Bearer " + TOKEN);
        var first = client.sendAsync(reload.build(), BodyHandlers.ofString());
        assertThat(loading.await(20, TimeUnit.SECONDS)).isTrue();
        try {
            expectError(send(reload.copy().timeout(Duration.ofSeconds(20))), 409, "a reload is under way");
        } finally {
            goesOn.countDown();
        }
        assertThat(first.get().statusCode()).isEqualTo(200);
        assertThat(send(reload).statusCode()).isEqualTo(200);
    }
}

package dev.isthmus.gateway.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.Connections;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.net.InetAddress;
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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import jdk.jfr.FlightRecorder;
import jdk.jfr.RecordingState;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DebugPagesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKEN = "a-long-secret";
    private static final String BODY = "{\"error\":\"no space left\"}";
    private static final String INFER = "/v2/models/m/infer";

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeRestServer server;

    private @Nullable Gateway running;

    /** The server responds when it is open. */
    private volatile CountDownLatch responds = new CountDownLatch(0);

    private void awaitTurn() throws IOException {
        try {
            assertThat(responds.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            awaitTurn();
            FakeRestServer.write(out, "HTTP/1.1 500 No\r\nContent-Length: " + BODY.length() + "\r\n\r\n" + BODY);
            return true;
        });
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        start(token);
    }

    private void start(@Nullable Path token) throws Exception {
        running = Gateway.start(TestConfigs.with(
                GatewayConfig.DEFAULT.withAdmin(DefaultValues.with(AdminConfig.DEFAULT, "port", 0, "tokenFile", token)),
                Map.of(
                        "listeners",
                        List.of(TestConfigs.with(Listener.DEFAULT.at("127.0.0.1", 0), Map.of("name", "front"))),
                        "upstreams",
                        Map.of("u", TestConfigs.upstream(UpstreamProtocol.REST, server.endpoint())),
                        "models",
                        Map.of("m", ModelConfig.of("u")),
                        "connections",
                        TestConfigs.with(
                                DefaultValues.of(Connections.class),
                                Map.of("requestHeadersTimeout", Duration.ofMinutes(10))))));
    }

    @AfterEach
    void stop() throws Exception {
        gateway().close();
        server.close();
    }

    private Gateway gateway() {
        return Objects.requireNonNull(running);
    }

    private HttpRequest.Builder admin(String path) {
        return HttpRequest.newBuilder(URI.create(
                "http://127.0.0.1:" + gateway().adminAddress().orElseThrow().getPort() + path));
    }

    private HttpResponse<String> get(String path) throws Exception {
        return client.send(
                admin(path).header("Authorization", "Bearer " + TOKEN).build(), BodyHandlers.ofString());
    }

    private JsonNode json(String path) throws Exception {
        return JSON.readTree(get(path).body());
    }

    private int port() {
        return gateway().addresses().getFirst().getPort();
    }

    private HttpRequest.Builder inference() {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + INFER))
                .headers("authorization", "Bearer client-secret")
                .POST(BodyPublishers.ofString("{\"inputs\":[]}"));
    }

    private void infer(String... headers) throws Exception {
        HttpRequest.Builder request = inference();
        if (headers.length > 0) {
            request.headers(headers);
        }
        assertThat(client.send(request.build(), BodyHandlers.ofString()).statusCode())
                .isGreaterThanOrEqualTo(500);
    }

    @ParameterizedTest
    @ValueSource(strings = {"threads", "heap", "buffers", "connections", "errors", "jfr?seconds=1"})
    void diagnosis_needsTheToken_onLoopbackToo(String page) throws Exception {
        HttpResponse<String> without = client.send(admin("/debug/" + page).build(), BodyHandlers.ofString());
        assertThat(without.statusCode()).isEqualTo(401);
        HttpRequest wrong =
                admin("/debug/" + page).header("Authorization", "Bearer wrong").build();
        assertThat(client.send(wrong, BodyHandlers.ofString()).statusCode()).isEqualTo(401);
    }

    @Test
    void diagnosis_isOff_withoutATokenFile() throws Exception {
        gateway().close();
        start((Path) null);
        HttpResponse<String> refused = get("/debug/threads");
        assertThat(refused.statusCode()).isEqualTo(403);
        assertThat(refused.body()).contains("admin.token_file is not configured");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            /debug/threads?x=1              | parameter 'x': no parameter is expected, got 'x'
            /debug/heap?classes=0           | parameter 'classes': a whole number from 1 to 1000 is expected, got '0'
            /debug/buffers?x                | parameter 'x': no parameter is expected, got 'x'
            /debug/connections?limit=1001   | parameter 'limit': a whole number from 1 to 1000 is expected, got '1001'
            /debug/connections?after=-1     | parameter 'after': a whole number from 0 to 999999999999999999 is expected, got '-1'
            /debug/connections?side=left    | parameter 'side': one of all, client, server is expected, got 'left'
            /debug/errors?limit=many        | parameter 'limit': a whole number from 1 to 20 is expected, got 'many'
            /debug/jfr?seconds=301          | parameter 'seconds': a whole number from 1 to 300 is expected, got '301'
            /debug/jfr?seconds=1&seconds=2  | parameter 'seconds': one value is expected, got '1, 2'
            """)
    void wrongParameter_isRefused(String path, String message) throws Exception {
        HttpResponse<String> refused = get(path);
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(JSON.readTree(refused.body()).path("error").asText()).isEqualTo(message);
    }

    @Test
    void threads_haveTheirStacks() throws Exception {
        HttpResponse<String> dump = get("/debug/threads");
        assertThat(dump.headers().firstValue("content-type")).hasValue("text/plain; charset=utf-8");
        assertThat(dump.body())
                .contains("Full thread dump")
                .containsPattern("\"isthmus-admin-.*\" #\\d+ .*daemon .*cpu=[\\d.]+ms ")
                .contains("dev.isthmus.gateway.diagnosis.DebugPages.threads(");
    }

    @Test
    void heap_hasItsLargestClasses() throws Exception {
        assertThat(get("/debug/heap?classes=50").body().lines().toList())
                .hasSizeLessThanOrEqualTo(53)
                .anySatisfy(line -> assertThat(line).contains("[B"));
    }

    @Test
    void buffers_haveAllocatorAndBudget() throws Exception {
        infer();
        JsonNode document = json("/debug/buffers");
        assertThat(document.path("budget").path("limit").asLong()).isPositive();
        assertThat(document.path("budget").path("used").asLong()).isNotNegative();
        assertThat(document.path("direct").path("limit").asLong()).isPositive();
        assertThat(document.path("direct").path("reserved").asLong()).isPositive();
        assertThat(document.path("direct").path("arenas")).isNotEmpty();
        assertThat(document.path("heap").path("used").asLong()).isPositive();
        assertThat(document.path("largest_connections").isArray()).isTrue();
    }

    @Test
    void connections_areListedByPage_withWhatTheyDo() throws Exception {
        try (Socket silent = new Socket(InetAddress.getLoopbackAddress(), port());
                Socket used = new Socket(InetAddress.getLoopbackAddress(), port());
                Socket http2 = new Socket(InetAddress.getLoopbackAddress(), port())) {
            responds = new CountDownLatch(1);
            CompletableFuture<HttpResponse<String>> held =
                    client.sendAsync(inference().build(), BodyHandlers.ofString());
            http2.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            http2.getOutputStream().write(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
            used.getOutputStream().write("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            assertThat(used.getInputStream().read()).isEqualTo('H');
            await().untilAsserted(() -> {
                JsonNode all = json("/debug/connections").path("connections");
                assertThat(all.findValuesAsText("protocol")).contains("HTTP/1.1", "HTTP/2", "first bytes awaited");
                assertThat(all.findValuesAsText("peer")).contains("/127.0.0.1:" + silent.getLocalPort());
                assertThat(all.findValuesAsText("upstream")).contains("u");
            });
            JsonNode mine = null;
            for (JsonNode each : json("/debug/connections?side=client").path("connections")) {
                assertThat(each.path("side").asText()).isEqualTo("client");
                assertThat(each.path("listener").asText()).isEqualTo("front");
                assertThat(each.path("age_seconds").asDouble()).isNotNegative();
                assertThat(each.path("bytes_waiting").asLong()).isNotNegative();
                mine = each.path("peer").asText().endsWith(":" + used.getLocalPort()) ? each : mine;
            }
            assertThat(Objects.requireNonNull(mine).path("protocol").asText()).isEqualTo("HTTP/1.1");
            assertThat(mine.path("streams").asInt()).isZero();
            assertThat(mine.has("tls")).isFalse();
            Set<Long> seen = new HashSet<>();
            long after = 0;
            do {
                JsonNode page = json("/debug/connections?limit=1&after=" + after);
                assertThat(page.path("connections").size()).isLessThanOrEqualTo(1);
                page.path("connections")
                        .forEach(each -> assertThat(seen.add(each.path("number").asLong()))
                                .isTrue());
                after = page.path("next").asLong();
            } while (after > 0);
            assertThat(seen).hasSizeGreaterThanOrEqualTo(4);
            responds.countDown();
            assertThat(held.get(20, TimeUnit.SECONDS).statusCode()).isGreaterThanOrEqualTo(500);
        }
    }

    @Test
    void errors_areThoseOfEachServer_withTheirRequest() throws Exception {
        for (int i = 0; i < 25; i++) {
            infer("x-request-id", "r-" + i);
        }
        await().untilAsserted(() -> assertThat(json("/debug/errors")
                        .path("servers")
                        .findValue("errors")
                        .asInt())
                .isEqualTo(25));
        JsonNode servers = json("/debug/errors?upstream=u&limit=3").path("servers");
        assertThat(servers).hasSize(1);
        JsonNode errors = servers.get(0);
        assertThat(errors.path("server").asText()).isEqualTo(server.endpoint().authority());
        assertThat(errors.path("last")).hasSize(3);
        JsonNode newest = errors.path("last").get(0);
        assertThat(newest.path("request_id").asText()).isEqualTo("r-24");
        assertThat(newest.path("code").asText()).isEqualTo("INTERNAL");
        assertThat(newest.path("text").asText()).contains("no space left");
        assertThat(newest.path("model").asText()).isEqualTo("m");
        assertThat(json("/debug/errors").path("servers").get(0).path("last")).hasSize(ServerErrors.ERRORS_OF_SERVER);
        assertThat(json("/debug/errors?upstream=v").path("servers")).isEmpty();

        // A call ends after its response was written.
        JsonNode call = await().until(() -> json("/debug/calls/r-24"), kept -> kept.has("server"));
        assertThat(call.path("server").asText()).isEqualTo(server.endpoint().authority());
        assertThat(call.path("reason").asText()).contains("no space left");
        assertThat(call.path("upstream_ms").asDouble()).isPositive();
        assertThat(get("/debug/calls/r-1").body()).contains("the call 'r-1' is not kept");
    }

    @Test
    void recording_isOfThisProcess_withoutSecrets_andLeavesNoFile() throws Exception {
        Set<Path> before = recordings();
        Path file = folder.resolve("r.jfr");
        HttpResponse<Path> response = client.send(
                admin("/debug/jfr?seconds=1")
                        .header("Authorization", "Bearer " + TOKEN)
                        .build(),
                BodyHandlers.ofFile(file));
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.headers().firstValue("content-disposition").orElse(""))
                .matches("attachment; filename=\"isthmus-.*\\.jfr\"");
        assertThat(response.headers().firstValueAsLong("content-length").orElse(0))
                .isEqualTo(Files.size(file));
        Set<String> events = new HashSet<>();
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            events.add(event.getEventType().getName());
        }
        assertThat(events)
                .contains("jdk.ActiveRecording", "jdk.GCConfiguration")
                .doesNotContain(
                        "jdk.InitialEnvironmentVariable",
                        "jdk.InitialSystemProperty",
                        "jdk.SystemProcess",
                        "jdk.JVMInformation");
        assertThat(get("/live").statusCode()).isEqualTo(200);
        await().untilAsserted(() -> assertThat(recordings()).isSubsetOf(before));
    }

    @Test
    void recordings_areMadeOneAtATime_andEndWithTheirClient() throws Exception {
        try (HttpClient impatient = HttpClient.newHttpClient()) {
            CompletableFuture<HttpResponse<String>> first = impatient.sendAsync(
                    admin("/debug/jfr?seconds=300")
                            .header("Authorization", "Bearer " + TOKEN)
                            .build(),
                    BodyHandlers.ofString());
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> FlightRecorder.getFlightRecorder().getRecordings().stream()
                            .anyMatch(each -> each.getState() == RecordingState.RUNNING));
            await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> {
                HttpResponse<String> second = get("/debug/jfr?seconds=1");
                assertThat(second.statusCode()).isEqualTo(409);
                assertThat(second.body()).contains("one at a time");
            });
            first.cancel(true);
            impatient.shutdownNow();
        }
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() ->
                        assertThat(get("/debug/jfr?seconds=1").statusCode()).isEqualTo(200));
    }

    private static Set<Path> recordings() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return new HashSet<>(
                    files.filter(each -> each.getFileName().toString().matches("isthmus-.*\\.jfr"))
                            .toList());
        }
    }

    /** Connections and calls are counted from the start on. */
    @ParameterizedTest
    @ValueSource(
            strings = {"/debug/connections?after=2147483648", "/debug/calls?view=page-one&after=999999999999999999"})
    void lists_goOnAfterTwoBillion(String path) throws Exception {
        assertThat(json(path).path("error").isMissingNode()).isTrue();
    }
}

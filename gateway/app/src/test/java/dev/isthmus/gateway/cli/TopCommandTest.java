package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TopCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String SIMPLE = "{\"inputs\":[{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\","
            + "\"data\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},{\"name\":\"INPUT1\",\"shape\":[1,16],"
            + "\"datatype\":\"INT32\",\"data\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}";

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private static Gateway start() throws Exception {
        return Gateway.start(ConfigLoader.parse(
                "test.yaml", """
                listeners: [{port: 0}]
                admin: {port: 0}
                health: {warm_up: 0s}
                local: {embedded_models: true}
                upstreams: {gone: {protocol: grpc, endpoints: ["%s"]}}
                models: {simple: {upstream: local}, lost: {upstream: gone}}
                """.formatted(TestConfigs.unusedEndpoint().authority()), Path.of(".")));
    }

    private static String admin(Gateway gateway) {
        return "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
    }

    private int top(boolean terminal, String... arguments) {
        out.getBuffer().setLength(0);
        List<String> all = new ArrayList<>(List.of("top", "--interval", "100ms"));
        all.addAll(List.of(arguments));
        return IsthmusCommand.run(
                new Console(new PrintWriter(out), new PrintWriter(err), () -> terminal), all.toArray(String[]::new));
    }

    private static Thread calls(Gateway gateway) {
        return Thread.ofVirtual().start(() -> {
            try (HttpClient client = HttpClient.newHttpClient()) {
                while (!Thread.currentThread().isInterrupted()) {
                    post(client, gateway, "simple", SIMPLE);
                    post(client, gateway, "simple", "{}");
                    post(client, gateway, "lost", SIMPLE);
                }
            }
        });
    }

    private static void post(HttpClient client, Gateway gateway, String model, String body) {
        String url = "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v2/models/" + model + "/infer"))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            client.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException | java.io.IOException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static JsonNode named(JsonNode list, String key, String name) {
        for (JsonNode each : list) {
            if (each.path(key).asText().equals(name)) {
                return each;
            }
        }
        throw new AssertionError(name + " is expected in " + list);
    }

    @Test
    void json_hasRatesOfModelsAndHealthOfServers() throws Exception {
        try (Gateway gateway = start()) {
            Thread calls = calls(gateway);
            await().atMost(1, TimeUnit.MINUTES).untilAsserted(() -> {
                assertThat(top(true, "--admin", admin(gateway), "-o", "json"))
                        .as(err.toString())
                        .isZero();
                JsonNode rates = JSON.readTree(out.toString());
                JsonNode simple = named(rates.path("models"), "model", "simple");
                assertThat(simple.path("requests_per_second").asDouble()).isPositive();
                assertThat(simple.path("rejected_per_second").asDouble()).isPositive();
                assertThat(simple.path("failed_per_second").asDouble()).isZero();
                assertThat(simple.path("p99_ms").asDouble())
                        .isGreaterThanOrEqualTo(simple.path("p50_ms").asDouble())
                        .isPositive();
                assertThat(named(rates.path("models"), "model", "lost")
                                .path("failed_per_second")
                                .asDouble())
                        .isPositive();
                assertThat(named(rates.path("servers"), "upstream", "gone")
                                .path("ready")
                                .asBoolean())
                        .isFalse();
            });
            calls.interrupt();
            calls.join();
        }
    }

    @Test
    void onceAndWithoutTerminal_tableIsPrinted() throws Exception {
        try (Gateway gateway = start()) {
            for (boolean terminal : new boolean[] {true, false}) {
                assertThat(
                                terminal
                                        ? top(true, "--admin", admin(gateway), "--once")
                                        : top(false, "--admin", admin(gateway)))
                        .as(err.toString())
                        .isZero();
                assertThat(out.toString())
                        .doesNotContain("\033")
                        .contains("requests/s", "MODEL", "UPSTREAM", "local     local");
            }
        }
    }

    @Test
    @SuppressWarnings("try") // closed twice
    void live_isRefreshedAndRestoresTheTerminal() throws Exception {
        try (Gateway gateway = start()) {
            Thread top = Thread.ofPlatform().start(() -> top(true, "--admin", admin(gateway)));
            await().atMost(1, TimeUnit.MINUTES).until(() -> frames() >= 3);
            assertThat(out.toString()).startsWith("\033[?1049h\033[?25l").contains("every 100ms; Ctrl-C ends");
            gateway.close();
            await().atMost(1, TimeUnit.MINUTES)
                    .until(() -> out.toString().contains(": connection refused; 'admin' in"));
            top.interrupt();
            top.join();
            assertThat(out.toString()).endsWith("\033[?25h\033[?1049l");
        }
    }

    private long frames() {
        return out.toString().split("\033\\[H", -1).length;
    }

    @Test
    void gatewayThatIsGone_isSaid() throws Exception {
        assertThat(top(true, "--admin", "http://" + TestConfigs.unusedEndpoint().authority()))
                .isEqualTo(1);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString()).contains(": connection refused; 'admin' in");
    }

    @Test
    void intervalThatIsNone_isRefused() {
        Console console = new Console(new PrintWriter(out), new PrintWriter(err), () -> false);
        assertThat(IsthmusCommand.run(console, "top", "--interval", "soon")).isEqualTo(2);
        assertThat(err.toString()).contains("--interval: a duration such as 5s is expected, got 'soon'");
    }
}

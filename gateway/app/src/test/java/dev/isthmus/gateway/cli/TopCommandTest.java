package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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
            await().atMost(1, TimeUnit.MINUTES).until(() -> out.toString().contains("nothing accepts connections at"));
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
        assertThat(err.toString()).contains("nothing accepts connections at");
    }

    @Test
    void intervalThatIsNone_isRefused() {
        Console console = new Console(new PrintWriter(out), new PrintWriter(err));
        assertThat(IsthmusCommand.run(console, "top", "--interval", "soon")).isEqualTo(2);
        assertThat(err.toString()).contains("--interval: a duration such as 2s is expected, got 'soon'");
    }

    @Test
    void sample_isParsed() {
        MetricSample sample = MetricSample.parse("a_b{x=\"1,\\\"}\\\\\\n\",y=\"\"} 1.5E3 1700000000");
        assertThat(sample).isEqualTo(new MetricSample("a_b", Map.of("x", "1,\"}\\\n", "y", ""), 1500));
        assertThat(MetricSample.parse("a 3")).isEqualTo(new MetricSample("a", Map.of(), 3));
        assertThat(MetricSample.parse("a{} +Inf")).isEqualTo(new MetricSample("a", Map.of(), Double.POSITIVE_INFINITY));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "# HELP a b", "a", "a{x=\"1", "a{x=\"1\"", "a{x} 1", "a x", " 1"})
    void otherLines_areNoSamples(String line) {
        assertThat(MetricSample.parse(line)).isNull();
    }

    @ParameterizedTest
    @CsvSource({"0.5, 1", "0.25, 0.5", "0.75, 1.5", "0.8, 1.6", "0.99, 2", "1, 2"})
    void quantile_isInterpolated(double share, double expected) {
        TreeMap<Double, Double> buckets = new TreeMap<>(Map.of(1.0, 5.0, 2.0, 10.0, Double.POSITIVE_INFINITY, 10.0));
        assertThat(FleetRates.quantile(buckets, Double.NaN, 2, share)).isCloseTo(expected, within(0.03));
    }

    @Test
    void quantile_beyondTheBuckets_isTheHighestBound() {
        assertThat(FleetRates.quantile(
                        new TreeMap<>(Map.of(1.0, 0.0, Double.POSITIVE_INFINITY, 4.0)), Double.NaN, 9, 0.5))
                .isEqualTo(1);
        assertThat(FleetRates.quantile(new TreeMap<>(), 0, 0, 0.5)).isNaN();
        assertThat(FleetRates.quantile(new TreeMap<>(Map.of(1.0, 0.0)), 0, 0, 0.5))
                .isNaN();
    }

    private static FleetSample sample(long seconds, double calls) {
        String text = "isthmus_requests_seconds_count{code=\"OK\",model=\"m\",operation=\"infer\"} " + calls + "\n"
                + "isthmus_requests_seconds_count{code=\"OK\",model=\"m\",operation=\"server_ready\"} 99\n"
                + "isthmus_requests_seconds_count{code=\"CANCELLED\",model=\"m\",operation=\"infer\"} 5\n";
        return FleetSample.of(TimeUnit.SECONDS.toNanos(seconds), text, JSON.createObjectNode());
    }

    private static FleetSample endpoint(long seconds, int answered, int errors, int unavailable, int failed) {
        StringBuilder text = new StringBuilder();
        Map.of("answered", answered, "error", errors, "unavailable", unavailable, "failed", failed)
                .forEach((outcome, count) -> text.append("isthmus_endpoint_requests_seconds_count{endpoint=\"e:1\",")
                        .append("outcome=\"" + outcome + "\",upstream=\"u\"} " + count + "\n"));
        ObjectNode document = JSON.createObjectNode();
        document.putArray("servers").addObject().put("upstream", "u").put("server", "e:1");
        return FleetSample.of(TimeUnit.SECONDS.toNanos(seconds), text.toString(), document);
    }

    @Test
    void errorsOfAServer_areCountedApartFromMissingResponses() {
        FleetRates rates = FleetRates.between(endpoint(1, 10, 0, 0, 0), endpoint(3, 14, 4, 2, 8));
        JsonNode server = rates.document().path("servers").path(0);
        assertThat(server.path("requests_per_second").asDouble()).isEqualTo(9);
        assertThat(server.path("errors_per_second").asDouble()).isEqualTo(3);
        assertThat(server.path("failed_per_second").asDouble()).isEqualTo(4);
    }

    @Test
    void counterThatFell_countsFromZero() {
        assertThat(FleetRates.between(sample(1, 10), sample(3, 20)).total().calls())
                .isEqualTo(5);
        assertThat(FleetRates.between(sample(1, 10), sample(3, 1)).total().calls())
                .isEqualTo(3);
    }
}

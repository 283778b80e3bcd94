package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a real collector of OpenTelemetry gets of a gateway's traces and metrics. */
class OtelCollectorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String PARENT = "b7ad6b7169203331";
    private static final int SERVER = 2;
    private static final int INTERNAL = 1;

    @TempDir
    Path folder;

    private static void infer(Gateway gateway) throws Exception {
        URI uri =
                URI.create("http://127.0.0.1:" + gateway.addresses().getFirst().getPort() + "/v2/models/digits/infer");
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("traceparent", "00-" + TRACE + "-" + PARENT + "-01")
                .POST(BodyPublishers.ofFile(SAMPLE))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            assertThat(client.send(request, BodyHandlers.discarding()).statusCode())
                    .isEqualTo(200);
        }
    }

    /** The elements of a list below all requests: of each resource, and of each scope in it. */
    private static List<JsonNode> all(List<JsonNode> requests, String resources, String scopes, String elements) {
        List<JsonNode> all = new ArrayList<>();
        requests.forEach(request -> request.path(resources)
                .forEach(resource -> resource.path(scopes)
                        .forEach(scope -> scope.path(elements).forEach(all::add))));
        return all;
    }

    private static List<JsonNode> spans(OtelCollector collector) throws IOException {
        return all(collector.received("traces"), "resourceSpans", "scopeSpans", "spans");
    }

    private static List<JsonNode> metrics(OtelCollector collector, String name) throws IOException {
        return all(collector.received("metrics"), "resourceMetrics", "scopeMetrics", "metrics").stream()
                .filter(metric -> metric.path("name").asText().equals(name))
                .toList();
    }

    /** Attributes by name; numbers are texts in OTLP's JSON, too. */
    private static Map<String, String> attributes(JsonNode of) {
        Map<String, String> attributes = new HashMap<>();
        of.path("attributes")
                .forEach(each -> each.path("value")
                        .forEach(value -> attributes.put(each.path("key").asText(), value.asText())));
        return attributes;
    }

    private static JsonNode span(List<JsonNode> spans, int kind) {
        return spans.stream()
                .filter(span -> span.path("kind").asInt() == kind)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no span of kind " + kind + ": " + spans));
    }

    @Test
    void tracesAndMetrics_areUnderstood() throws Exception {
        try (OtelCollector collector = OtelCollector.start(folder)) {
            await().atMost(PATIENCE).until(collector::ready);
            try (Gateway gateway = Gateway.start(ConfigLoader.parse(
                            "isthmus.yaml", """
                    listeners: [{port: 0}]
                    local: {embedded_models: true}
                    models: {digits: {upstream: local}}
                    tracing: {endpoint: "%s", sample: 0%%}
                    metrics: {otlp: {endpoint: "%s", interval: 1s, resource: {team: vision}}}
                    """.formatted(collector.url("traces"), collector.url("metrics")), folder))
                    .awaitLocalModels()) {
                infer(gateway);
                await().atMost(PATIENCE).until(() -> spans(collector).size() >= 2);
                await().atMost(PATIENCE)
                        .until(() -> metrics(collector, "isthmus_requests_seconds").stream()
                                .anyMatch(metric -> metric.toString().contains("\"digits\"")));
            }
            spansAreRight(collector);
            metricsAreRight(collector);
        }
    }

    private static void spansAreRight(OtelCollector collector) throws IOException {
        JsonNode resource =
                collector.received("traces").getFirst().path("resourceSpans").path(0);
        assertThat(attributes(resource.path("resource"))).containsEntry("service.name", "isthmus");
        List<JsonNode> spans = spans(collector);
        JsonNode call = span(spans, SERVER);
        assertThat(call.path("name").asText()).isEqualTo("POST /v2/models/{model}/infer");
        assertThat(call.path("traceId").asText()).isEqualTo(TRACE);
        assertThat(call.path("parentSpanId").asText()).isEqualTo(PARENT);
        assertThat(attributes(call))
                .containsEntry("http.request.method", "POST")
                .containsEntry("http.route", "/v2/models/{model}/infer")
                .containsEntry("http.response.status_code", "200")
                .containsEntry("url.path", "/v2/models/digits/infer")
                .containsEntry("isthmus.model", "digits")
                .containsEntry("isthmus.upstream", "local")
                .containsKeys("isthmus.request_id", "isthmus.request.size", "client.address");
        JsonNode execution = span(spans, INTERNAL);
        assertThat(execution.path("name").asText()).isEqualTo("infer");
        assertThat(execution.path("traceId").asText()).isEqualTo(TRACE);
        assertThat(execution.path("parentSpanId").asText())
                .isEqualTo(call.path("spanId").asText());
        assertThat(attributes(execution)).containsEntry("isthmus.attempt", "1");
        assertThat(Long.parseLong(call.path("endTimeUnixNano").asText()))
                .isGreaterThan(Long.parseLong(call.path("startTimeUnixNano").asText()));
    }

    private static void metricsAreRight(OtelCollector collector) throws IOException {
        JsonNode resource =
                collector.received("metrics").getLast().path("resourceMetrics").path(0);
        assertThat(attributes(resource.path("resource")))
                .containsEntry("service.name", "isthmus")
                .containsEntry("team", "vision");
        JsonNode requests = metrics(collector, "isthmus_requests_seconds").getLast();
        assertThat(requests.path("unit").asText()).isEqualTo("s");
        JsonNode points = requests.path("histogram").path("dataPoints");
        assertThat(points).anySatisfy(point -> {
            assertThat(attributes(point))
                    .containsEntry("model", "digits")
                    .containsEntry("operation", "infer")
                    .containsEntry("code", "OK")
                    .containsEntry("protocol", "rest");
            assertThat(point.path("count").asText()).isEqualTo("1");
            assertThat(point.path("explicitBounds")).hasSize(16);
        });
        assertThat(metrics(collector, "isthmus_connections_opened")
                        .getLast()
                        .path("sum")
                        .path("isMonotonic")
                        .asBoolean())
                .isTrue();
        assertThat(metrics(collector, "isthmus_ready").getLast().path("gauge").path("dataPoints"))
                .hasSize(1);
    }
}

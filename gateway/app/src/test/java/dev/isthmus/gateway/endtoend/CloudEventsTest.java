package dev.isthmus.gateway.endtoend;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The payload log, read by the SDK of CloudEvents and by KServe. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CloudEventsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<Integer> ONES =
            IntStream.range(0, 16).mapToObj(each -> 1).toList();
    private static final List<Integer> NUMBERS = IntStream.range(0, 16).boxed().toList();

    private Process sink;
    private Iterator<String> lines;
    private String port;

    @BeforeAll
    void start() throws Exception {
        sink = new ProcessBuilder(
                        Script.folder("kserve", Script.run("install.sh", "kserve"))
                                .resolve("bin/python")
                                .toString(),
                        Script.path("interop/cloudevents_sink.py").toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        lines = sink.inputReader().lines().iterator();
        port = lines.next();
    }

    @AfterAll
    void stop() throws Exception {
        // It exits at the end of its input.
        sink.getOutputStream().close();
        if (!sink.waitFor(20, TimeUnit.SECONDS)) {
            sink.destroyForcibly().waitFor();
        }
    }

    private static String tensor(String name, List<Integer> values) {
        return "{\"name\":\"" + name + "\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":" + values + "}";
    }

    private static List<Integer> values(JsonNode event, String tensor) {
        return StreamSupport.stream(event.path("tensors").path(tensor).spliterator(), false)
                .map(JsonNode::asInt)
                .toList();
    }

    /** What KServe's logger sends: pkg/logger/worker.go. */
    private static void expectAttributes(JsonNode event, String id) {
        JsonNode attributes = event.path("attributes");
        assertThat(attributes.path("specversion").asText()).isEqualTo("1.0");
        assertThat(attributes.path("id").asText()).isEqualTo(id);
        assertThat(attributes.path("source").asText()).isEqualTo("/gateway");
        assertThat(attributes.path("inferenceservicename").asText()).isEqualTo("simple");
        assertThat(attributes.path("namespace").asText()).isEqualTo("production");
        assertThat(attributes.path("component").asText()).isEqualTo("predictor");
        assertThat(attributes.path("endpoint").asText()).isEqualTo("default");
        assertThat(attributes.path("time").asText()).matches("\\d{4}-\\d\\d-\\d\\dT.*Z");
    }

    @ParameterizedTest
    @ValueSource(strings = {"json", "binary"})
    void events_areKServes(String form) throws Exception {
        Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true}
                payload_log: {url: "http://127.0.0.1:%s/", source: /gateway, namespace: production, form: %s}
                """.formatted(port, form));
        String inputs = "{\"inputs\":[" + tensor("INPUT0", NUMBERS) + "," + tensor("INPUT1", ONES) + "]}";
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/simple/infer"))
                .header("x-request-id", "r-" + form)
                .POST(HttpRequest.BodyPublishers.ofString(inputs))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            assertThat(client.send(request, HttpResponse.BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(200);
            await().until(() ->
                    gateway.meters().get("isthmus.payload.log.events").counter().count() == 2);
        } finally {
            gateway.close();
        }
        Map<String, JsonNode> events = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            JsonNode event = JSON.readTree(lines.next());
            expectAttributes(event, "r-" + form);
            events.put(event.path("attributes").path("type").asText(), event);
        }
        JsonNode sent = requireNonNull(events.get("org.kubeflow.serving.inference.request"));
        JsonNode received = requireNonNull(events.get("org.kubeflow.serving.inference.response"));
        assertThat(values(sent, "INPUT0")).isEqualTo(NUMBERS);
        assertThat(values(sent, "INPUT1")).isEqualTo(ONES);
        assertThat(values(received, "OUTPUT0"))
                .isEqualTo(NUMBERS.stream().map(each -> each + 1).toList());
    }
}

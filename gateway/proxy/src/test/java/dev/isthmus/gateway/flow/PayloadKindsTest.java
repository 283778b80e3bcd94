package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.flow.EventCollector.EventPair;
import dev.isthmus.gateway.flow.EventCollector.SentEvent;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The events of requests other than JSON and protobuf inferences. */
class PayloadKindsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String GENERATE = "{\"text_input\": \"x\",\n \"parameters\": {\"token\": 1.10}}";
    private static final String GENERATED = "{\"model_name\":\"m\",\"text_output\":\"y\"}";
    private static final String EVENTS = "data: {\"text_output\":\"a\"}\n\ndata: {\"text_output\":\"b\"}\n\n";
    private static final String METADATA = "{\"name\":\"m\",\"platform\":\"\",\"inputs\":[{\"name\":\"x\",\"datatype\":"
            + "\"UINT8\",\"shape\":[-1]}],\"outputs\":[]}";

    private EventCollector sink;
    private FakeRestServer server;
    private volatile String events = EVENTS;

    @BeforeEach
    void start() throws Exception {
        sink = new EventCollector();
        server = FakeRestServer.that((request, out) -> respond(request.head(), out));
    }

    @AfterEach
    void stop() throws Exception {
        sink.close();
        server.close();
    }

    private boolean respond(String head, OutputStream out) throws IOException {
        if (head.contains("/generate_stream ")) {
            write(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " + events.length()
                            + "\r\n\r\n" + events);
        } else if (head.contains("/generate ")) {
            write(out, ok(GENERATED));
        } else {
            write(out, ok(head.startsWith("POST") ? Infer.responseJson("m", "a", 5) : METADATA));
        }
        return true;
    }

    /** The client gets the events, and with them the failure. */
    @Test
    void generateStream_withAnErrorEvent_isAResponseThatFailed() throws Exception {
        events = "data: {\"text_output\":\"a\"}\n\ndata: {\"error\":\"b\"}\n\n";
        try (Stage stage = stage(Map.of())) {
            try (Http1Client client = stage.http1()) {
                client.post("/v2/models/m/generate_stream", GENERATE).head();
                client.chunks();
            }
            SentEvent response = sink.pair().response();
            assertThat(response.attribute("code")).isEqualTo("UNKNOWN");
            assertThat(response.text()).startsWith("data: {\"text_output\":\"a\"}\n\ndata: {\"error\"");
        }
    }

    private Stage stage(Map<String, Object> changes) throws Exception {
        Map<String, Object> all = new HashMap<>(changes);
        all.put("url", sink.url());
        return Stage.with(TestConfigs.with(
                GatewayConfig.DEFAULT,
                Map.of(
                        "listeners", List.of(Stage.MANAGED),
                        "upstreams", Map.of("rest", Stage.rest(server, ServerDialect.GENERIC)),
                        "models", Map.of("m", ModelConfig.of("rest")),
                        "payloadLog", TestConfigs.with(DefaultValues.of(PayloadLogConfig.class), all))));
    }

    private static void post(Stage stage, String operation, String body, int status, String... headers)
            throws IOException {
        try (Http1Client client = stage.http1()) {
            assertThat(client.post("/v2/models/" + operation, body, headers)
                            .response()
                            .status())
                    .isEqualTo(status);
        }
    }

    private void generateStream(Stage stage) throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post("/v2/models/m/generate_stream", GENERATE).head();
            assertThat(client.chunks()).isEqualTo(EVENTS);
        }
    }

    @Test
    void generate_isTwoEvents_withTheDocuments() throws Exception {
        try (Stage stage = stage(Map.of())) {
            post(stage, "m/generate", GENERATE, 200);
            EventPair events = sink.pair();
            assertThat(events.request().text()).isEqualTo("{\"text_input\":\"x\",\"parameters\":{\"token\":1.10}}");
            assertThat(events.response().text()).isEqualTo(GENERATED);
            for (SentEvent each : events.both()) {
                assertThat(each.attribute("operation")).isEqualTo("generate");
                assertThat(each.attribute("inferenceservicename")).isEqualTo("m");
            }
            assertThat(events.response().attribute("code")).isEqualTo("OK");
            assertThat(events.request().attribute("payloadsize")).isEqualTo(Integer.toString(GENERATE.length()));
        }
    }

    @Test
    void generateStream_isOneResponse_ofServerSentEvents() throws Exception {
        try (Stage stage = stage(Map.of())) {
            generateStream(stage);
            SentEvent response = sink.pair().response();
            assertThat(response.text()).isEqualTo(EVENTS);
            assertThat(response.header("content-type")).isEqualTo("text/event-stream");
            assertThat(response.attribute("operation")).isEqualTo("generate_stream");
        }
    }

    @Test
    void generate_obeysTheLimits_andLeavesNamesOut() throws Exception {
        OmittedPayload omit = new OmittedPayload(Set.of("text_output"), Set.of("token"));
        try (Stage stage = stage(Map.of("omit", omit, "maxSize", 60))) {
            generateStream(stage);
            EventPair events = sink.pair();
            assertThat(events.request().text()).isEqualTo("{\"text_input\":\"x\",\"parameters\":{}}");
            assertThat(events.response().text()).isEqualTo("data: {}\n\ndata: {}\n\n");
            assertThat(events.response().attribute("tensorsomitted")).isEqualTo("true");
            post(stage, "m/generate", "{\"text_input\":\"" + "x".repeat(60) + "\"}", 200);
            assertThat(sink.pair().request().attribute("dataomitted")).isEqualTo("size");
        }
    }

    @Test
    void rawBinaryRequest_isLoggedAsItIs() throws Exception {
        try (Stage stage = stage(Map.of())) {
            post(stage, "m/infer", "\1\2\3", 200, "Inference-Header-Content-Length: 0");
            EventPair events = sink.pair();
            assertThat(events.request().data()).containsExactly(1, 2, 3);
            assertThat(events.request().header("inference-header-content-length"))
                    .isEqualTo("0");
            assertThat(events.request().header("content-type")).isEqualTo("application/octet-stream");
            assertThat(JSON.readTree(events.response().data()).path("outputs").size())
                    .isEqualTo(1);
        }
    }
}

package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.flow.FakeCollector.one;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_CLIENT;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_SERVER;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.opentelemetry.proto.trace.v1.Span;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Traces of calls, in the metrics of the admin listener. */
class ExemplarsTest {
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";

    private static Gateway start(FakeGrpcServer server, FakeCollector collector) throws Exception {
        return Gateway.start(TestConfigs.with(
                GatewayConfig.DEFAULT,
                Map.of(
                        "listeners",
                        List.of(Stage.MANAGED),
                        "upstreams",
                        Map.of("grpc", Stage.grpc(server, ServerDialect.GENERIC)),
                        "models",
                        Map.of("m", ModelConfig.of("grpc")),
                        "tracing",
                        TestConfigs.with(
                                DefaultValues.of(TracingConfig.class),
                                Map.of("endpoint", collector.endpoint(), "sample", 1.0)),
                        "admin",
                        DefaultValues.with(AdminConfig.DEFAULT, "port", 0))));
    }

    private static void infer(Gateway gateway) throws Exception {
        int port = gateway.addresses().getFirst().getPort();
        try (Http1Client client = new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port))) {
            client.post("/v2/models/m/infer", Infer.json("a", 1), "Traceparent: 00-" + TRACE + "-b7ad6b7169203331-01")
                    .response();
        }
    }

    /** The gateway's own: those of a garbage collection appear with the first one, which may be between two reads. */
    private static Set<String> names(String metrics) {
        return metrics.lines()
                .filter(line -> line.startsWith("isthmus_"))
                .map(line -> line.split("[{ ]", 2)[0])
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String metrics(Gateway gateway, HttpClient client, String accept) throws Exception {
        URI uri = URI.create(
                "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + "/metrics");
        HttpResponse<String> response = client.send(
                HttpRequest.newBuilder(uri).header("Accept", accept).build(), HttpResponse.BodyHandlers.ofString());
        assertThat(response.headers().firstValue("content-type").orElse(""))
                .startsWith(accept.startsWith("application") ? "application/openmetrics-text" : "text/plain");
        return response.body();
    }

    /** Prometheus' text format has no exemplars. */
    @Test
    void histograms_nameATraceOfACall_inOpenMetrics() throws Exception {
        try (FakeCollector collector = new FakeCollector();
                FakeGrpcServer server = new FakeGrpcServer((call, message) -> FakeGrpcServer.respond(
                        call, Infer.responseTo(Infer.request(message), 1).toByteArray()));
                Gateway gateway = start(server, collector);
                HttpClient client = HttpClient.newHttpClient()) {
            infer(gateway);
            List<Span> spans = collector.spans(2);
            String open = metrics(gateway, client, "application/openmetrics-text; version=1.0.0, text/plain;q=0.5");
            assertThat(open)
                    .endsWith("# EOF\n")
                    .containsPattern("isthmus_requests_seconds_bucket\\{.*} 1 # \\{span_id=\""
                            + FakeCollector.id(one(spans, SPAN_KIND_SERVER)) + "\",trace_id=\"" + TRACE + "\"}")
                    .containsPattern("isthmus_upstream_requests_seconds_bucket\\{.*} 1 # \\{span_id=\""
                            + FakeCollector.id(one(spans, SPAN_KIND_CLIENT)) + "\",trace_id=\"" + TRACE + "\"}");
            String text = metrics(gateway, client, "*/*");
            assertThat(text).doesNotContain(TRACE).doesNotContain("# EOF");
            assertThat(names(open)).isEqualTo(names(text));
        }
    }
}

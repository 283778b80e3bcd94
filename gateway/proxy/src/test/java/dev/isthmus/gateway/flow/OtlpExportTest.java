package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TestAuthority;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.metrics.v1.AggregationTemporality;
import io.opentelemetry.proto.metrics.v1.HistogramDataPoint;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import io.opentelemetry.proto.resource.v1.Resource;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Metrics that are sent to a collector. */
class OtlpExportTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String CONFIG = """
            listeners: [{port: 0}]
            local: {embedded_models: true}
            default_upstream: local
            """;

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String OTLP = """
            metrics:
              otlp:
                endpoint: %s
                interval: 100ms
                resource: {team: vision}
                header_files: {api-key: key}
            """;

    @TempDir
    Path folder;

    private MetricsCollector collector;

    @BeforeEach
    void start() throws Exception {
        collector = new MetricsCollector();
        Path key = Files.writeString(folder.resolve("key"), "secret\n");
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    }

    @AfterEach
    void stop() {
        collector.close();
    }

    private GatewayConfig config(String endpoint) throws ConfigException {
        return ConfigLoader.parse("f.yaml", CONFIG + OTLP.formatted(endpoint), folder);
    }

    private static void call(ProxyServer gateway) throws Exception {
        URI live =
                URI.create("http://127.0.0.1:" + gateway.addresses().getFirst().getPort() + "/v2/health/live");
        try (HttpClient client = HttpClient.newHttpClient()) {
            client.send(HttpRequest.newBuilder(live).build(), BodyHandlers.discarding());
        }
    }

    private static double exports(ProxyServer gateway, String result) {
        return gateway.meters()
                .get("isthmus.metrics.exports")
                .tag("result", result)
                .counter()
                .count();
    }

    private static Metric metric(Map<String, Metric> metrics, String name) {
        return Objects.requireNonNull(metrics.get(name), name);
    }

    @Test
    void metrics_areSent_withNamesAndLabelsOfPrometheus() throws Exception {
        try (ProxyServer gateway = ProxyServer.start(config(collector.endpoint()))) {
            call(gateway);
            await().atMost(PATIENCE)
                    .until(() ->
                            !collector.received.isEmpty() && collector.last().containsKey("isthmus_requests_seconds"));
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") > 0);
        }
        Map<String, Metric> metrics = collector.last();

        Metric requests = metric(metrics, "isthmus_requests_seconds");
        assertThat(requests.getUnit()).isEqualTo("s");
        assertThat(requests.getDescription()).startsWith("Duration of calls");
        assertThat(requests.getHistogram().getAggregationTemporality())
                .isEqualTo(AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE);
        HistogramDataPoint point = requests.getHistogram().getDataPoints(0);
        assertThat(MetricsCollector.attributes(point.getAttributesList()))
                .containsEntry("operation", "server_live")
                .containsEntry("code", "OK");
        assertThat(point.getCount()).isEqualTo(1);
        assertThat(point.getSum()).isPositive();
        assertThat(point.getExplicitBoundsList()).hasSize(16).startsWith(0.0005).endsWith(60.0);
        assertThat(point.getBucketCountsList()).hasSize(17);
        assertThat(point.getBucketCountsList().stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo(1);
        assertThat(point.getTimeUnixNano()).isGreaterThan(point.getStartTimeUnixNano());

        Metric opened = metric(metrics, "isthmus_connections_opened");
        assertThat(opened.getSum().getIsMonotonic()).isTrue();
        assertThat(opened.getSum().getDataPoints(0).getAsDouble()).isEqualTo(1);
        assertThat(metric(metrics, "isthmus_ready").getGauge().getDataPointsCount())
                .isEqualTo(1);
        assertThat(metric(metrics, "isthmus_request_phase_seconds")
                        .getSummary()
                        .getDataPoints(0)
                        .getCount())
                .isPositive();
        NumberDataPoint build = metric(metrics, "isthmus_build_info").getGauge().getDataPoints(0);
        assertThat(MetricsCollector.attributes(build.getAttributesList())).containsKey("version");
    }

    @Test
    void requests_haveTheHeadersOfFiles_andTheResource() throws Exception {
        try (ProxyServer gateway = ProxyServer.start(config(collector.endpoint()))) {
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") > 0);
        }
        assertThat(collector.headers.getFirst().getFirst("api-key")).isEqualTo("secret");
        assertThat(collector.headers.getFirst().getFirst("content-type")).isEqualTo("application/x-protobuf");
        assertThat(MetricsCollector.attributes(collector
                        .received
                        .getFirst()
                        .getResourceMetrics(0)
                        .getResource()
                        .getAttributesList()))
                .containsEntry("service.name", "isthmus")
                .containsEntry("team", "vision")
                .containsKeys("service.version", "service.instance.id");
    }

    private static long start(ExportMetricsServiceRequest request) {
        return request.getResourceMetrics(0).getScopeMetrics(0).getMetricsList().stream()
                .filter(Metric::hasSum)
                .findFirst()
                .orElseThrow()
                .getSum()
                .getDataPoints(0)
                .getStartTimeUnixNano();
    }

    /** Also after a reload that changes the section. */
    @Test
    void metricsAndTraces_areOfOneInstance() throws Exception {
        try (FakeCollector spans = new FakeCollector();
                ProxyServer gateway = ProxyServer.start(config(collector.endpoint()))) {
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") > 0);
            String tracing = "tracing: {endpoint: '%s', sample: 100%%}\n".formatted(spans.endpoint());
            String changed = (CONFIG + OTLP).formatted(collector.endpoint()).replace("team: vision", "team: speech");
            gateway.reload(ConfigLoader.parse("f.yaml", changed + tracing, folder));
            call(gateway);
            spans.spans(1);
            await().atMost(PATIENCE)
                    .until(() -> MetricsCollector.attributes(
                                    resource(collector.received.getLast()).getAttributesList())
                            .containsValue("speech"));
            String instance = MetricsCollector.instance(resource(collector.received.getFirst()));
            assertThat(instance).isNotEmpty();
            assertThat(MetricsCollector.instance(resource(collector.received.getLast())))
                    .isEqualTo(instance);
            // The counters go on, so that none may be said to begin anew.
            assertThat(start(collector.received.getLast())).isEqualTo(start(collector.received.getFirst()));
            assertThat(MetricsCollector.instance(spans.received.getFirst().getResource()))
                    .isEqualTo(instance);
        }
    }

    private static Resource resource(ExportMetricsServiceRequest request) {
        return request.getResourceMetrics(0).getResource();
    }

    @Test
    void collectorOverTls_isVerified_andIssuersAreReadAgain() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        Path trusted = folder.resolve("trusted.pem");
        Files.copy(new TestAuthority(folder, "other").ca(), trusted);
        try (MetricsCollector secure = MetricsCollector.over(authority.issue("collector", "localhost"));
                ProxyServer gateway = ProxyServer.start(ConfigLoader.parse(
                        "f.yaml", CONFIG + OTLP.formatted(secure.endpoint()) + "    ca: trusted.pem\n", folder))) {
            await().atMost(PATIENCE).until(() -> exports(gateway, "failed") > 0);
            assertThat(exports(gateway, "ok")).isZero();
            Files.copy(authority.ca(), trusted, StandardCopyOption.REPLACE_EXISTING);
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") > 0);
        }
    }

    @Test
    void failuresOfTheCollector_areCounted_andEndWithIt() throws Exception {
        collector.status = 503;
        try (ProxyServer gateway = ProxyServer.start(config(collector.endpoint()))) {
            await().atMost(PATIENCE).until(() -> exports(gateway, "failed") >= 2);
            assertThat(exports(gateway, "ok")).isZero();
            collector.status = 200;
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") >= 2);
        }
    }

    @Test
    void collectorThatIsGone_isAFailure() throws Exception {
        try (ProxyServer gateway = ProxyServer.start(config("http://127.0.0.1:1/v1/metrics"))) {
            await().atMost(PATIENCE).until(() -> exports(gateway, "failed") > 0);
        }
    }

    @Test
    void reload_beginsAndEndsIt() throws Exception {
        try (ProxyServer gateway = ProxyServer.start(ConfigLoader.parse("f.yaml", CONFIG, folder))) {
            assertThat(gateway.meters().find("isthmus.metrics.exports").counters())
                    .isEmpty();
            gateway.reload(config(collector.endpoint()));
            await().atMost(PATIENCE).until(() -> exports(gateway, "ok") > 0);
            gateway.reload(ConfigLoader.parse("f.yaml", CONFIG, folder));
            await().atMost(PATIENCE)
                    .until(() -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().startsWith("isthmus-otlp-metrics")));
        }
    }

    @Test
    void endpoint_thatIsNone_isRefused() {
        assertThatThrownBy(() -> config("collector:4318"))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("a URL as http://127.0.0.1:4318/v1/metrics is expected")
                .hasMessageContaining("collector:4318");
        assertThatThrownBy(() -> config("http://192.0.2.1/v1/metrics"))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("https is expected, or http on loopback");
    }
}

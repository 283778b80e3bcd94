package dev.isthmus.gateway.flow;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.isthmus.gateway.settings.TestAuthority;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.resource.v1.Resource;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;

/** An OpenTelemetry collector: receives metrics over OTLP/HTTP. */
final class MetricsCollector implements AutoCloseable {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final HttpServer server;
    private final String origin;
    final List<ExportMetricsServiceRequest> received = new CopyOnWriteArrayList<>();
    final List<Headers> headers = new CopyOnWriteArrayList<>();
    volatile int status = 200;

    MetricsCollector() throws IOException {
        this(HttpServer.create(ANY_PORT, 0), "http://127.0.0.1:");
    }

    /** Over TLS, with this certificate of localhost. */
    static MetricsCollector over(TestAuthority.Issued issued) throws Exception {
        HttpsServer server = HttpsServer.create(ANY_PORT, 0);
        server.setHttpsConfigurator(new HttpsConfigurator(issued.server()));
        return new MetricsCollector(server, "https://localhost:");
    }

    private MetricsCollector(HttpServer server, String origin) {
        this.server = server;
        this.origin = origin;
        server.createContext("/v1/metrics", this::receive);
        server.start();
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange;
                InputStream body = new GZIPInputStream(exchange.getRequestBody())) {
            ExportMetricsServiceRequest request = ExportMetricsServiceRequest.parseFrom(body);
            headers.add(exchange.getRequestHeaders());
            if (status == 200) {
                received.add(request);
            }
            exchange.sendResponseHeaders(status, -1);
        }
    }

    String endpoint() {
        return origin + server.getAddress().getPort() + "/v1/metrics";
    }

    /** The identity of the process that sent a request. */
    static String instance(Resource resource) {
        return attributes(resource.getAttributesList()).getOrDefault("service.instance.id", "");
    }

    /** The metrics of the last request by name. */
    Map<String, Metric> last() {
        return received.getLast().getResourceMetricsList().stream()
                .flatMap(resource -> resource.getScopeMetricsList().stream())
                .flatMap(scope -> scope.getMetricsList().stream())
                .collect(Collectors.toMap(Metric::getName, Function.identity()));
    }

    static Map<String, String> attributes(List<KeyValue> attributes) {
        return attributes.stream()
                .collect(Collectors.toMap(
                        KeyValue::getKey, each -> each.getValue().getStringValue()));
    }

    @Override
    public void close() {
        server.stop(0);
    }
}

package dev.isthmus.gateway.flow;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.metrics.v1.Metric;
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
    private final HttpServer server;
    final List<ExportMetricsServiceRequest> received = new CopyOnWriteArrayList<>();
    final List<Headers> headers = new CopyOnWriteArrayList<>();
    volatile int status = 200;

    MetricsCollector() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
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
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1/metrics";
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

package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.isthmus.gateway.settings.TestAuthority;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;

/** An OpenTelemetry collector: receives spans over OTLP/HTTP. */
final class FakeCollector implements AutoCloseable {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final HttpServer server;
    private final String scheme;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    final List<ResourceSpans> received = new CopyOnWriteArrayList<>();
    final List<Headers> requests = new CopyOnWriteArrayList<>();
    /** The number of requests that get 503 first. */
    final AtomicInteger refusals = new AtomicInteger();

    volatile int status = 200;

    FakeCollector() throws IOException {
        this(HttpServer.create(ANY_PORT, 0), "http");
    }

    /** Over TLS, with this certificate. */
    static FakeCollector over(TestAuthority.Issued issued) throws Exception {
        HttpsServer server = HttpsServer.create(ANY_PORT, 0);
        server.setHttpsConfigurator(new HttpsConfigurator(issued.server()));
        return new FakeCollector(server, "https");
    }

    private FakeCollector(HttpServer server, String scheme) {
        this.server = server;
        this.scheme = scheme;
        server.createContext("/v1/traces", this::receive);
        server.setExecutor(threads);
        server.start();
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange;
                InputStream body = new GZIPInputStream(exchange.getRequestBody())) {
            ExportTraceServiceRequest request = ExportTraceServiceRequest.parseFrom(body);
            requests.add(exchange.getRequestHeaders());
            int code = refusals.getAndDecrement() > 0 ? 503 : status;
            if (code == 200) {
                received.addAll(request.getResourceSpansList());
            }
            exchange.sendResponseHeaders(code, -1);
        }
    }

    String endpoint() {
        return scheme + "://localhost:" + server.getAddress().getPort() + "/v1/traces";
    }

    List<Span> spans() {
        return received.stream()
                .flatMap(resource -> resource.getScopeSpansList().stream())
                .flatMap(scope -> scope.getSpansList().stream())
                .toList();
    }

    /** Waits until this many spans have come. */
    List<Span> spans(int count) {
        await().atMost(PATIENCE).until(() -> spans().size() >= count);
        return spans();
    }

    static Span one(List<Span> spans, Span.SpanKind kind) {
        List<Span> found = all(spans, kind);
        if (found.size() != 1) {
            throw new AssertionError("one span of kind " + kind + " is expected, got " + spans);
        }
        return found.getFirst();
    }

    static List<Span> all(List<Span> spans, Span.SpanKind kind) {
        return spans.stream().filter(span -> span.getKind() == kind).toList();
    }

    static String traceId(Span span) {
        return HexFormat.of().formatHex(span.getTraceId().toByteArray());
    }

    static String id(Span span) {
        return HexFormat.of().formatHex(span.getSpanId().toByteArray());
    }

    static String parentId(Span span) {
        return HexFormat.of().formatHex(span.getParentSpanId().toByteArray());
    }

    static Map<String, Object> attributes(List<KeyValue> attributes) {
        return attributes.stream().collect(Collectors.toMap(KeyValue::getKey, each -> value(each.getValue())));
    }

    static Map<String, Object> attributes(Span span) {
        return attributes(span.getAttributesList());
    }

    private static Object value(AnyValue value) {
        return switch (value.getValueCase()) {
            case STRING_VALUE -> value.getStringValue();
            case INT_VALUE -> value.getIntValue();
            case ARRAY_VALUE ->
                value.getArrayValue().getValuesList().stream()
                        .map(FakeCollector::value)
                        .toList();
            default -> value;
        };
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}

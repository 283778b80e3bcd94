package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/** A sink of CloudEvents in binary content mode, which checks the rules of that mode. */
final class EventCollector implements AutoCloseable {
    private final HttpServer server;
    private final String scheme;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final BlockingQueue<SentEvent> events = new LinkedBlockingQueue<>();
    private final CountDownLatch open = new CountDownLatch(1);
    private volatile boolean holding;
    private volatile int status = 200;
    private volatile String violation = "";

    /**
     * An event as it arrived.
     *
     * @param attributes without the prefix {@code ce-}, decoded
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record SentEvent(Map<String, String> attributes, Map<String, String> headers, byte[] data) {
        String attribute(String name) {
            return attributes.getOrDefault(name, "");
        }

        String type() {
            return attribute("type").replace("org.kubeflow.serving.inference.", "");
        }

        String header(String name) {
            return headers.getOrDefault(name, "");
        }

        String text() {
            return new String(data, StandardCharsets.UTF_8);
        }
    }

    /** The two events of a call. */
    record EventPair(SentEvent request, SentEvent response) {
        List<SentEvent> both() {
            return List.of(request, response);
        }
    }

    EventCollector() throws IOException {
        this(HttpServer.create(free(), 0), "http");
    }

    /** Over TLS, as localhost. */
    EventCollector(SSLContext tls) throws IOException {
        this(secure(tls), "https");
    }

    private static HttpServer secure(SSLContext tls) throws IOException {
        HttpsServer server = HttpsServer.create(free(), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(tls));
        return server;
    }

    private static InetSocketAddress free() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private EventCollector(HttpServer server, String scheme) {
        this.server = server;
        this.scheme = scheme;
        server.setExecutor(threads);
        server.createContext("/sink", this::receive);
        server.start();
    }

    String url() {
        return scheme + "://localhost:" + server.getAddress().getPort() + "/sink";
    }

    /** Responds with this status from here on. */
    void respond(int code) {
        status = code;
    }

    /** Responds to nothing before {@link #release()}. */
    void hold() {
        holding = true;
    }

    void release() {
        open.countDown();
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            Map<String, String> headers = new TreeMap<>();
            exchange.getRequestHeaders()
                    .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), String.join(",", values)));
            byte[] data = exchange.getRequestBody().readAllBytes();
            if (holding) {
                await();
            }
            SentEvent event = event(exchange, headers, data);
            events.add(event);
            exchange.sendResponseHeaders(status, -1);
        }
    }

    private void await() {
        try {
            if (!open.await(60, TimeUnit.SECONDS)) {
                violation = "never released";
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private SentEvent event(HttpExchange exchange, Map<String, String> headers, byte[] data) {
        Map<String, String> attributes = new TreeMap<>();
        headers.forEach((name, value) -> {
            if (name.startsWith("ce-")) {
                check(value.matches("[!#$&-~]+"), "value of " + name + ": " + value);
                check(name.substring(3).matches("[a-z0-9]+"), "name " + name);
                attributes.put(name.substring(3), URLDecoder.decode(value.replace("+", "%2B"), StandardCharsets.UTF_8));
            }
        });
        check(exchange.getRequestMethod().equals("POST"), "method " + exchange.getRequestMethod());
        check("1.0".equals(attributes.get("specversion")), "specversion");
        for (String required : new String[] {"id", "source", "type", "time"}) {
            check(attributes.containsKey(required), required + " is missing");
        }
        check(!attributes.containsKey("datacontenttype"), "datacontenttype is the content type");
        check(headers.containsKey("content-type") == (data.length > 0), "content type of data");
        return new SentEvent(attributes, headers, data);
    }

    private void check(boolean holds, String what) {
        if (!holds) {
            violation = what;
        }
    }

    /** The next event. */
    SentEvent next() throws InterruptedException {
        SentEvent event = events.poll(20, TimeUnit.SECONDS);
        assertThat(violation).isEmpty();
        return Objects.requireNonNull(event, "no event");
    }

    /** The next two events, of one call, in any order. */
    EventPair pair() throws InterruptedException {
        SentEvent one = next();
        SentEvent other = next();
        assertThat(List.of(one.type(), other.type())).containsExactlyInAnyOrder("request", "response");
        return one.type().equals("request") ? new EventPair(one, other) : new EventPair(other, one);
    }

    int waiting() {
        return events.size();
    }

    @Override
    public void close() {
        release();
        server.stop(0);
        threads.shutdownNow();
    }
}

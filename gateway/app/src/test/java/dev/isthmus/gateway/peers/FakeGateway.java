package dev.isthmus.gateway.peers;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server that answers as a gateway of another version would, or as none should. */
public final class FakeGateway implements AutoCloseable {
    public static final String HOSTILE = "<img src=x onerror=alert(1)>";

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private volatile int status = 200;
    private volatile String answer;

    /** Answers each request with this text. */
    public FakeGateway(String answer) throws IOException {
        this.answer = answer;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            byte[] body = this.answer.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("location", "http://127.0.0.1:1/gateway");
            exchange.sendResponseHeaders(status, body.length);
            try (var out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.start();
    }

    public String address() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    FakeGateway answering(int newStatus, String text) {
        status = newStatus;
        answer = text;
        return this;
    }

    @Override
    public void close() {
        server.stop(0);
        threads.close();
    }
}

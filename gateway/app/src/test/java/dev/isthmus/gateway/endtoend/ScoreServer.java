package dev.isthmus.gateway.endtoend;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A V2 server over REST with a model 'score', which responds with the same probability as long as it works. */
final class ScoreServer implements AutoCloseable {
    private static final String FEATURES = "{\"name\":\"features\",\"datatype\":\"FP32\",\"shape\":[-1,WIDTH]}";
    private static final String PROBABILITY = "{\"name\":\"probability\",\"datatype\":\"FP32\",\"shape\":[-1,1]}";
    private static final String FAILURE = "{\"error\":\"cannot allocate memory\"}";
    private static final String CLASS = "{\"name\":\"class\",\"datatype\":\"INT64\",\"shape\":[-1,1]}";

    /** How it responds. */
    enum Behaviour {
        WORKS,
        /** Inferences fail with 500. */
        FAILS,
        /** Nothing is answered until it is closed. */
        HANGS
    }

    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile Behaviour behaviour = Behaviour.WORKS;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final String metadata;
    private final String response;

    /**
     * Starts one.
     *
     * @param differs whether it describes the model in another way than the others do
     */
    ScoreServer(String version, double probability, boolean differs) throws IOException {
        metadata =
                "{\"name\":\"score\",\"versions\":[\"%s\"],\"platform\":\"sklearn\",\"inputs\":[%s],\"outputs\":[%s]}"
                        .formatted(
                                version,
                                FEATURES.replace("WIDTH", differs ? "3" : "4"),
                                PROBABILITY + (differs ? "," + CLASS : ""));
        response = ("{\"model_name\":\"score\",\"model_version\":\"%s\",\"outputs\":[{\"name\":\"probability\","
                        + "\"datatype\":\"FP32\",\"shape\":[1,1],\"data\":[%s]}]}")
                .formatted(version, probability);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::respond);
        server.start();
    }

    /** This server, which behaves so from now on. */
    ScoreServer that(Behaviour next) {
        behaviour = next;
        return this;
    }

    private void respond(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        String path = exchange.getRequestURI().getPath();
        if (behaviour == Behaviour.HANGS) {
            awaitEnd();
            exchange.close();
            return;
        }
        boolean fails = behaviour == Behaviour.FAILS && path.endsWith("/infer");
        String body = switch (path) {
            case "/v2" -> "{\"name\":\"mlserver\",\"version\":\"1.7.1\",\"extensions\":[]}";
            case "/v2/models/score" -> metadata;
            case "/v2/models/score/infer" -> response;
            case "/v2/repository/index" ->
                "[{\"name\":\"score\",\"version\":\"\",\"state\":\"READY\",\"reason\":\"\"}]";
            default -> "{}";
        };
        byte[] bytes = (fails ? FAILURE : body).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(fails ? 500 : 200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private void awaitEnd() {
        try {
            closed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    String address() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        closed.countDown();
        server.stop(0);
        threads.close();
    }
}

package dev.isthmus.gateway.endtoend;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A V2 server over REST with a model 'score', which always responds with the same probability. */
final class ScoreServer implements AutoCloseable {
    private static final String FEATURES = "{\"name\":\"features\",\"datatype\":\"FP32\",\"shape\":[-1,WIDTH]}";
    private static final String PROBABILITY = "{\"name\":\"probability\",\"datatype\":\"FP32\",\"shape\":[-1,1]}";
    private static final String CLASS = "{\"name\":\"class\",\"datatype\":\"INT64\",\"shape\":[-1,1]}";

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

    private void respond(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        String path = exchange.getRequestURI().getPath();
        String body = switch (path) {
            case "/v2" -> "{\"name\":\"mlserver\",\"version\":\"1.7.1\",\"extensions\":[]}";
            case "/v2/models/score" -> metadata;
            case "/v2/models/score/infer" -> response;
            case "/v2/repository/index" ->
                "[{\"name\":\"score\",\"version\":\"\",\"state\":\"READY\",\"reason\":\"\"}]";
            default -> "{}";
        };
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    String address() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.close();
    }
}

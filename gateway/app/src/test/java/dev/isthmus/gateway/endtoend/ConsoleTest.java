package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The console in a real browser. With {@code -Disthmus.screenshots=FOLDER} the pictures of the documentation are made,
 * which needs some minutes more of traffic.
 */
class ConsoleTest {
    private static final String TOKEN = "a-long-secret";
    private static final String BODY =
            "{\"inputs\": [{\"name\": \"features\", \"shape\": [1, 4], \"datatype\": \"FP32\", \"data\": [5.1, 3.5,"
                    + " 1.4, 0.2]}]}";
    private static final int MODELS = 300;

    private static String config(Path token, ScoreServer first, ScoreServer second, ScoreServer next) {
        StringBuilder config = new StringBuilder("""
            listeners: [{port: 0}]
            admin: {host: 127.0.0.1, port: 0, token_file: TOKEN}
            health: {warm_up: 0s}
            local: {embedded_models: true}
            upstreams:
              stable: {protocol: rest, endpoints: ["FIRST", "SECOND"]}
              next: {protocol: rest, endpoints: ["NEXT"]}
              down: {protocol: rest, endpoints: ["127.0.0.1:1"]}
            models:
              fraud: {upstream: down}
              score:
                targets: [{upstream: stable, weight: 9}, {upstream: next, weight: 1}]
                ramp: {target: next, steps: [10%, 25%, 50%, 100%], interval: 1h, max_latency_ratio: 100, max_difference: 0.2}
                shadow: [{upstream: next, compare: true}]
            """.replace("TOKEN", token.toString())
                .replace("FIRST", first.address())
                .replace("SECOND", second.address())
                .replace("NEXT", next.address()));
        for (int i = 0; i < MODELS; i++) {
            config.append("  batch-%03d: {upstream: local, model: simple}\n".formatted(i));
        }
        return config.toString();
    }

    private static void infer(HttpClient client, Gateway gateway, String model) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/" + model + "/infer"))
                .POST(HttpRequest.BodyPublishers.ofString(BODY))
                .build();
        client.send(request, HttpResponse.BodyHandlers.discarding());
    }

    /** Calls as long as the browser looks. */
    private static Thread traffic(Gateway gateway, AtomicBoolean ended) {
        return Thread.ofVirtual().start(() -> {
            try (HttpClient client = HttpClient.newHttpClient()) {
                for (int i = 0; !ended.get(); i++) {
                    infer(client, gateway, i % 100 == 0 ? "fraud" : "score");
                    TimeUnit.MILLISECONDS.sleep(10 + (i / 100 % 7) * 5);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void pages(@TempDir Path folder) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        AtomicBoolean ended = new AtomicBoolean();
        try (ScoreServer first = new ScoreServer("1", 0.72, false);
                ScoreServer second = new ScoreServer("1", 0.72, true);
                ScoreServer next = new ScoreServer("2", 0.7188, false);
                Gateway gateway = TestGateways.start(config(token, first, second, next));
                Gateway guarded = TestGateways.start(
                        config(token, first, second, next).replace("host: 127.0.0.1", "host: 0.0.0.0"))) {
            Thread traffic = traffic(gateway, ended);
            try {
                ConsoleScript.run("console.sh", ConsoleScript.url(gateway), ConsoleScript.url(guarded), TOKEN);
            } finally {
                ended.set(true);
                traffic.join();
            }
        }
    }
}

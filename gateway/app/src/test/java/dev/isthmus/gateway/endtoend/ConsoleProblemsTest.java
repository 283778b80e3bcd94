package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.endtoend.ScoreServer.Behaviour;
import dev.isthmus.gateway.settings.TestAuthority;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the console says of a gateway with a failing replica, a hung server, a failing canary, an expired certificate and
 * a caller over its limit, in a real browser. With {@code -Disthmus.screenshots=FOLDER} pictures are made.
 */
class ConsoleProblemsTest {
    private static final String TOKEN = "a-long-secret";
    private static final String HOSTILE = "<img src=x onerror=alert(1)>";
    private static final String HOSTILE_CALLER = "<img/src=x/onerror=alert(1)>";
    private static final String BODY =
            "{\"inputs\": [{\"name\": \"features\", \"shape\": [1, 4], \"datatype\": \"FP32\", \"data\": [5.1, 3.5,"
                    + " 1.4, 0.2]}]}";

    private static final String CONFIG = """
            listeners:
              - port: 0
              - port: 0
                tls: {certificates: [{certificate: CERTIFICATE, key: KEY}]}
            admin: {host: 127.0.0.1, port: 0, token_file: FOLDER/token, dashboards: "https://grafana.example/d/isthmus"}
            authentication: {api_keys: {file: FOLDER/keys}}
            health: {warm_up: 0s}
            upstreams:
              good: {protocol: rest, endpoints: ["GOOD"], queue: {}}
              pair: {protocol: rest, endpoints: ["GOOD", "FAILING"], balance: {policy: round_robin}, outliers: {error_rate: {threshold: 0%, deviations: 0}}}
              canary: {protocol: rest, endpoints: ["FAILING"]}
              hung: {protocol: rest, endpoints: ["HANGING"], checks: {timeout: 1s}}
            models:
              replicas: {upstream: pair, model: score}
              stuck: {upstream: hung, model: score, timeout: 1s}
              ranker:
                targets: [{upstream: good, model: score, weight: 1}, {upstream: canary, model: score, weight: 1}]
                ramp: {target: canary, steps: [50%, 100%], interval: 1h}
              limited: {upstream: good, model: score, rates: [{principal: true, requests_per_second: 1}]}
              shared: {upstream: good, model: score, cache: {}, batching: {}}
              "HOSTILE": {upstream: hung, model: score, timeout: 1s}
            """;

    private static void secret(Path file, String text) throws Exception {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private static String keys(String... callers) throws Exception {
        StringBuilder lines = new StringBuilder();
        for (String caller : callers) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(caller.getBytes(StandardCharsets.UTF_8));
            lines.append(caller)
                    .append(' ')
                    .append(HexFormat.of().formatHex(digest))
                    .append('\n');
        }
        return lines.toString();
    }

    /** Calls a model again and again until the browser has ended. A caller's key is its name. */
    private static Thread calls(Gateway gateway, String caller, String model, AtomicBoolean ended) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + TestGateways.address(gateway)
                        + "/v2/models/"
                        + URLEncoder.encode(model, StandardCharsets.UTF_8).replace("+", "%20") + "/infer"))
                .header("x-api-key", caller)
                .POST(HttpRequest.BodyPublishers.ofString(BODY))
                .build();
        return Thread.ofVirtual().start(() -> {
            try (HttpClient client = HttpClient.newHttpClient()) {
                while (!ended.get()) {
                    client.send(request, HttpResponse.BodyHandlers.discarding());
                    TimeUnit.MILLISECONDS.sleep(30);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void paths(@TempDir Path folder) throws Exception {
        secret(folder.resolve("token"), TOKEN);
        secret(folder.resolve("keys"), keys("web", "batch", HOSTILE_CALLER));
        TestAuthority.Issued expired = new TestAuthority(folder, "authority").expired("gateway", "localhost");
        AtomicBoolean ended = new AtomicBoolean();
        List<Thread> callers = new ArrayList<>();
        try (ScoreServer good = new ScoreServer("1", 0.72, false);
                ScoreServer failing = new ScoreServer("1", 0.72, false).that(Behaviour.FAILS);
                ScoreServer hanging = new ScoreServer("1", 0.72, false).that(Behaviour.HANGS);
                Gateway gateway = TestGateways.start(CONFIG.replace("FOLDER", folder.toString())
                        .replace("CERTIFICATE", expired.certificate().toString())
                        .replace("KEY", expired.key().toString())
                        .replace("GOOD", good.address())
                        .replace("FAILING", failing.address())
                        .replace("HANGING", hanging.address())
                        .replace("HOSTILE", HOSTILE))) {
            for (String model : List.of("replicas", "stuck", "ranker", "shared", HOSTILE)) {
                callers.add(calls(gateway, "web", model, ended));
            }
            callers.add(calls(gateway, "batch", "limited", ended));
            callers.add(calls(gateway, HOSTILE_CALLER, "ranker", ended));
            try {
                ConsoleScript.run("problems.sh", ConsoleScript.url(gateway), TOKEN);
            } finally {
                ended.set(true);
                for (Thread caller : callers) {
                    caller.join();
                }
            }
        }
    }
}

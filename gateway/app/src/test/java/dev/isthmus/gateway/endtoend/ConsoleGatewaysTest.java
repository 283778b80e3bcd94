package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.peers.FakeGateway;
import dev.isthmus.gateway.settings.TestConfigs;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

/**
 * What the console says of several gateways, in a real browser: two of equal configuration, one of another version, one
 * that is gone. With {@code -Disthmus.screenshots=FOLDER} the picture of the documentation is made.
 */
class ConsoleGatewaysTest {
    private static final String CONFIG = """
            listeners: [{port: 0}]
            admin: {port: 0PEERS}
            health: {warm_up: 0s}
            local: {embedded_models: true}
            models:
              digits:
                targets: [{name: old, upstream: local, weight: 100}, {name: new, upstream: local, weight: 0}]
                ramp: {target: new, steps: [1%, 50%], interval: 1h}
            """;

    private static final String OTHER = """
            {"instance": "other", "host": "HOSTILE", "version": "HOSTILE", "started": "2026-01-01T00:00:00Z",
             "generation": 3, "loaded": "2026-01-01T00:00:00Z", "configuration": {"models": "HOSTILE"},
             "ready": true, "state": "serving",
             "traffic": {"active_calls": 2, "calls": 1000, "client_errors": 0, "server_errors": 10, "rate": 5},
             "problems": {"critical": 0, "warning": 1},
             "models": [{"model": "digits", "calls": 1000, "client_errors": 0, "server_errors": 10}],
             "ramps": [{"model": "digits", "target": "new", "state": "running", "step": 2, "share": 0.5}]}
            """;

    /** The document of a gateway of another version; its texts are HTML and scripts, except for screenshots. */
    private static String other() {
        return System.getProperty("isthmus.screenshots") == null
                ? OTHER.replace("HOSTILE", FakeGateway.HOSTILE)
                : OTHER.replaceFirst("HOSTILE", "isthmus-old").replaceFirst("HOSTILE", "0.1.0");
    }

    private static void infer(Gateway gateway) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/digits/infer"))
                .POST(HttpRequest.BodyPublishers.ofString("{\"inputs\": []}"))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            client.send(request, HttpResponse.BodyHandlers.discarding());
        }
    }

    @Test
    void page() throws Exception {
        try (Gateway second = TestGateways.start(CONFIG.replace("PEERS", ""));
                FakeGateway other = new FakeGateway(other());
                Gateway first = TestGateways.start(CONFIG.replace(
                        "PEERS",
                        ", peers: {endpoints: [\"127.0.0.1:%d\", \"%s\", \"%s\"], interval: 5s, timeout: 10s}"
                                .formatted(
                                        second.adminAddress().orElseThrow().getPort(),
                                        other.address(),
                                        TestConfigs.unusedEndpoint().authority())))) {
            infer(first);
            infer(second);
            ConsoleScript.run("gateways.sh", ConsoleScript.url(first), ConsoleScript.url(second));
        }
    }
}

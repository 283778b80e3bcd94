package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.micrometer.core.instrument.Counter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Objectives of models, from the configuration to the counters that alerts read. */
class ObjectivesTest {
    private FakeRestServer server;
    private Gateway gateway;

    /** What the server does to a request depends on its id. */
    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            if (request.body().contains("\"status\"")) {
                FakeRestServer.write(out, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
            } else if (!request.body().contains("\"silent\"")) {
                FakeRestServer.write(out, FakeRestServer.ok(Infer.responseJson("m", "a", 1)));
            }
            return true;
        });
        gateway = Gateway.start(config("{availability: 99.9%, latency: 99%, latency_within: 1h}"));
    }

    @AfterEach
    void stop() throws IOException {
        gateway.close();
        server.close();
    }

    private GatewayConfig config(String objectives) throws ConfigException {
        return ConfigLoader.parse("f.yaml", """
                listeners: [{port: 0}]
                health: {warm_up: 0s}
                upstreams:
                  u: {protocol: rest, endpoints: ["%s"], dialect: mlserver}
                models:
                  "m*": {upstream: u, objectives: %s}
                  hanging: {upstream: u, objectives: {latency: 99%%, latency_within: 1ms}}
                  plain: {upstream: u}
                """.formatted(server.endpoint().authority(), objectives), Path.of("."));
    }

    private void infer(String model, String body, String... headers) throws Exception {
        int port = gateway.addresses().getFirst().getPort();
        try (Http1Client client = new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port))) {
            client.post("/v2/models/" + model + "/infer", body, headers).response();
        }
    }

    private String counts(String model, String objective) {
        return count(model, objective, "met") + " " + count(model, objective, "missed");
    }

    private long count(String model, String objective, String result) {
        Counter counter = gateway.meters()
                .find("isthmus.objective.requests")
                .tags("model", model, "objective", objective, "result", result)
                .counter();
        return counter == null ? -1 : (long) counter.count();
    }

    private void awaitCounts(String model, String objective, String counts) {
        await().untilAsserted(() -> assertThat(counts(model, objective)).isEqualTo(counts));
    }

    @Test
    void callsOfARoute_meetOrMissItsObjectives() throws Exception {
        assertThat(counts("m*", "availability")).isEqualTo("0 0");
        infer("m1", Infer.json("a", 1));
        infer("m2", Infer.json("status", 1));
        infer("m1", "{");
        infer("plain", Infer.json("status", 1));
        infer("unknown", Infer.json("a", 1));
        infer("m1", Infer.json("a", 1));
        awaitCounts("m*", "availability", "2 1");
        awaitCounts("m*", "latency", "2 0");
        assertThat(counts("plain", "availability")).isEqualTo("-1 -1");
    }

    @Test
    void serverThatHangs_missesTheLatency_whenItsClientGivesUp() throws Exception {
        infer("hanging", Infer.json("silent", 1), "X-Request-Timeout-Ms: 300");
        awaitCounts("hanging", "latency", "0 1");
        assertThat(counts("hanging", "availability")).isEqualTo("-1 -1");
    }

    @Test
    void reload_keepsCountersOfTheSameObjectives_andReplacesOthers() throws Exception {
        infer("m1", Infer.json("a", 1));
        awaitCounts("m*", "latency", "1 0");
        GatewayConfig other = config("{latency: 95%, latency_within: 1h}");
        assertThat(gateway.reload(other)).isInstanceOf(ReloadResult.Applied.class);
        assertThat(counts("m*", "availability")).isEqualTo("-1 -1");
        assertThat(counts("m*", "latency")).isEqualTo("0 0");
        assertThat(counts("hanging", "latency")).isEqualTo("0 0");
        infer("m1", Infer.json("a", 1));
        awaitCounts("m*", "latency", "1 0");
    }
}

package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.oip.OipException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that share ramps in a real Redis. */
class SharedRampsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;
    private static FakeRestServer before;
    private static FakeRestServer after;
    private static HttpClient client;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.start(folder, "--requirepass", "a-password");
        Files.writeString(folder.resolve("password"), "a-password\n");
        Files.setPosixFilePermissions(folder.resolve("password"), PosixFilePermissions.fromString("rw-------"));
        before = FakeRestServer.sending(response("old"));
        after = FakeRestServer.sending(response("new"));
        client = HttpClient.newHttpClient();
    }

    private static String response(String text) {
        return FakeRestServer.ok("{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"BYTES\","
                + "\"shape\":[1],\"data\":[\"" + text + "\"]}]}");
    }

    @AfterAll
    static void stop() throws Exception {
        client.close();
        before.close();
        after.close();
        redis.close();
    }

    /** A gateway whose ramp is at its first step of two servers. */
    private static ProxyServer gateway(String prefix, String steps, String more) throws Exception {
        return ProxyServer.start("""
                listeners: [{port: 0}]
                shared: {url: "redis://127.0.0.1:%d", password_file: "%s", prefix: "%s:", timeout: 10s}
                upstreams:
                  before: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                  after: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                models:
                  m:
                    targets:
                      - {name: old, upstream: before, weight: 50}
                      - {name: new, upstream: after, weight: 50}
                    sticky: {header: x-user}
                    ramp:
                      {target: new, steps: [%s], interval: 1s, max_latency_ratio: 0%s}
                """.formatted(
                        redis.port(),
                        folder.resolve("password"),
                        prefix,
                        before.endpoint().port(),
                        after.endpoint().port(),
                        steps,
                        more));
    }

    private static ProxyServer gateway(String prefix) throws Exception {
        return gateway(prefix, "40%, 100%", ", minimum_requests: 1000000");
    }

    private static RampReport report(ProxyServer gateway) {
        return gateway.ramps().reports().getFirst();
    }

    private static void expect(RampState state, double share, ProxyServer... gateways) {
        for (ProxyServer gateway : gateways) {
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(report(gateway))
                            .returns(state, RampReport::state)
                            .returns(share, RampReport::share));
        }
    }

    /** What each of 100 users gets: "old" or "new". */
    private static List<String> targets(ProxyServer gateway) throws Exception {
        List<String> targets = new ArrayList<>();
        for (int user = 0; user < 100; user++) {
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create("http://" + gateway.address() + "/v2/models/m/infer"))
                    .header("x-user", "user-" + user)
                    .POST(BodyPublishers.ofFile(SAMPLE))
                    .build();
            String response = client.send(request, BodyHandlers.ofString()).body();
            targets.add(response.contains("new") ? "new" : response.contains("old") ? "old" : response);
        }
        return targets;
    }

    @Test
    void sameShare_sameUsers_andARollbackHoldsUntilARestart() throws Exception {
        try (ProxyServer first = gateway("users");
                ProxyServer second = gateway("users")) {
            expect(RampState.RUNNING, 0.4, first, second);
            List<String> targets = targets(first);
            assertThat(targets).containsOnly("new", "old").isEqualTo(targets(second));
            first.ramps().pause("m");
            expect(RampState.PAUSED, 0.4, first, second);
            second.ramps().resume("m");
            expect(RampState.RUNNING, 0.4, first, second);
            second.ramps().rollBack("m");
            expect(RampState.ROLLED_BACK, 0, first, second);
        }
        try (ProxyServer first = gateway("users");
                ProxyServer second = gateway("users")) {
            assertThat(List.of(first, second))
                    .allMatch(gateway -> report(gateway).share() == 0);
            expect(RampState.ROLLED_BACK, 0, first, second);
            assertThat(report(second).reason()).isEqualTo("requested: by the operator");
            first.ramps().restart("m");
            expect(RampState.RUNNING, 0.4, first, second);
        }
    }

    @Test
    void otherLimits_shareTheState() throws Exception {
        try (ProxyServer first = gateway("limits");
                ProxyServer second =
                        gateway("limits", "40%, 100%", ", minimum_requests: 7000000, max_error_rate: 9%")) {
            expect(RampState.RUNNING, 0.4, first, second);
            second.ramps().rollBack("m");
            expect(RampState.ROLLED_BACK, 0, first, second);
        }
        try (ProxyServer third = gateway("limits", "40%, 100%", ", minimum_requests: 3")) {
            expect(RampState.ROLLED_BACK, 0, third);
        }
    }

    @Test
    void stateFile_ofAnEarlierRound_isOutdated_andOneOfTheSameRoundCounts() throws Exception {
        String own = ", minimum_requests: 1000000}\nramps: {state_file: \"" + folder.resolve("rounds.json") + "\"";
        try (ProxyServer first = gateway("rounds", "40%, 100%", own)) {
            first.ramps().rollBack("m");
        }
        try (ProxyServer other = gateway("rounds")) {
            expect(RampState.ROLLED_BACK, 0, other);
            other.ramps().restart("m");
        }
        try (ProxyServer first = gateway("rounds", "40%, 100%", own);
                ProxyServer other = gateway("rounds")) {
            expect(RampState.RUNNING, 0.4, first, other);
            first.ramps().rollBack("m");
            redis.kill();
        }
        redis.restart();
        try (ProxyServer other = gateway("rounds")) {
            expect(RampState.RUNNING, 0.4, other);
            try (ProxyServer first = gateway("rounds", "40%, 100%", own)) {
                expect(RampState.ROLLED_BACK, 0, first, other);
            }
        }
    }

    @Test
    void stepOfOne_isTheStepOfAll() throws Exception {
        try (ProxyServer first = gateway("steps", "20%, 60%", ", minimum_requests: 1");
                ProxyServer second = gateway("steps", "20%, 60%", ", minimum_requests: 1")) {
            // Only the first gateway has calls.
            await().atMost(PATIENCE).until(() -> {
                targets(first);
                return report(first).share() == 0.6;
            });
            await().atMost(PATIENCE).until(() -> report(second).share() == 0.6);
        }
    }

    @Test
    void redisGone_rampsHold_rollBack_andAgreeAgainOnTheLowerShare() throws Exception {
        try (ProxyServer first = gateway("gone");
                ProxyServer second = gateway("gone")) {
            expect(RampState.RUNNING, 0.4, first, second);
            redis.kill();
            await().atMost(PATIENCE)
                    .until(() -> first.meters().get("isthmus.shared.up").gauge().value() == 0);
            assertThatThrownBy(() -> first.ramps().restart("m"))
                    .isInstanceOf(OipException.class)
                    .hasMessageContaining("only a rollback is possible now");
            first.ramps().rollBack("m");
            expect(RampState.ROLLED_BACK, 0, first);
            expect(RampState.RUNNING, 0.4, second);
            try (ProxyServer third = gateway("gone")) {
                // It knows nothing, so its target gets no calls.
                assertThat(report(third).share()).isZero();
                // Redis has lost everything.
                redis.restart();
                expect(RampState.ROLLED_BACK, 0, first, second, third);
            }
        }
    }
}

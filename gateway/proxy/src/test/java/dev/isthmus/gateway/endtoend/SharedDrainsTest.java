package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.oip.OipException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that share drained servers in a real Redis. */
class SharedDrainsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String DRAIN = "drained by alice: \"neuer\" Treiber\u00f6l, {1}";

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.start(folder);
    }

    @AfterAll
    static void stop() throws Exception {
        redis.close();
    }

    private static ProxyServer gateway(String prefix) throws Exception {
        return ProxyServer.start("""
                listeners: [{port: 0}]
                shared: {url: "redis://127.0.0.1:%d", prefix: "%s:", timeout: 10s}
                upstreams:
                  u: {protocol: rest, endpoints: ["127.0.0.1:1", "127.0.0.1:2"]}
                default_upstream: u
                """.formatted(redis.port(), prefix));
    }

    private static void expect(Map<String, String> drained, ProxyServer... gateways) {
        for (ProxyServer gateway : gateways) {
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(gateway.drained().all()).isEqualTo(drained));
        }
    }

    @Test
    void whatOneGatewayDrains_isDrainedInAll_andInThoseThatStart() throws Exception {
        try (ProxyServer first = gateway("all");
                ProxyServer second = gateway("all")) {
            first.drained().change("127.0.0.1:1", DRAIN);
            expect(Map.of("127.0.0.1:1", DRAIN), first, second);
            second.drained().change("127.0.0.1:2", DRAIN);
            expect(Map.of("127.0.0.1:1", DRAIN, "127.0.0.1:2", DRAIN), first, second);
        }
        try (ProxyServer third = gateway("all");
                ProxyServer other = gateway("other")) {
            expect(Map.of("127.0.0.1:1", DRAIN, "127.0.0.1:2", DRAIN), third);
            third.drained().change("127.0.0.1:1", null);
            third.drained().change("127.0.0.1:2", null);
            expect(Map.of(), third, other);
        }
    }

    @Test
    void redisGone_nothingChanges_andWhatItHasLostIsToldAgain() throws Exception {
        try (ProxyServer first = gateway("gone")) {
            first.drained().change("127.0.0.1:1", DRAIN);
            redis.kill();
            await().atMost(PATIENCE)
                    .until(() -> first.meters().get("isthmus.shared.up").gauge().value() == 0);
            assertThatThrownBy(() -> first.drained().change("127.0.0.1:1", null))
                    .isInstanceOf(OipException.class)
                    .hasMessageContaining("Redis does not answer; repeat it when it does");
            expect(Map.of("127.0.0.1:1", DRAIN), first);
            redis.restart();
            try (ProxyServer second = gateway("gone")) {
                expect(Map.of("127.0.0.1:1", DRAIN), first, second);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .untilAsserted(() -> second.drained().change("127.0.0.1:1", null));
                expect(Map.of(), first, second);
            }
        }
    }

    /** Those that are gone stay in the list. */
    @Test
    void manyDrainedServers_areShared_andNoMoreThanFitIntoAnAnswer() throws Exception {
        Map<String, String> drained = new HashMap<>();
        try (ProxyServer first = gateway("many");
                ProxyServer second = gateway("many")) {
            for (int i = 0; i < 500; i++) {
                String address = "server-%d.example:8001".formatted(i);
                drained.put(address, DRAIN);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .untilAsserted(() -> first.drained().change(address, DRAIN));
            }
            expect(drained, first, second);
            assertThatThrownBy(() -> first.drained().change("one-more:1", DRAIN))
                    .isInstanceOf(OipException.class)
                    .hasMessage("500 servers are drained; first enable those that are gone");
            assertThat(second.meters().get("isthmus.shared.lost").counter().count())
                    .isZero();
        }
    }
}

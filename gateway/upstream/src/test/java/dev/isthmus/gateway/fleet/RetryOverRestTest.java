package dev.isthmus.gateway.fleet;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RetryOverRestTest {
    private static final Set<RetryOn> DEFAULT = Retry.DEFAULT.on();
    private static final Set<RetryOn> ALL = EnumSet.allOf(RetryOn.class);
    private static final String FULL = "HTTP/1.1 503 No\r\nContent-Length: 16\r\n\r\n{\"error\":\"full\"}";

    private final ClusterBench fleet = new ClusterBench();
    private final AtomicInteger executed = new AtomicInteger();

    @AfterEach
    void nothingIsHeld() {
        fleet.close();
    }

    private FakeRestServer closing() throws Exception {
        return FakeRestServer.that((request, out) -> {
            executed.incrementAndGet();
            return false;
        });
    }

    private FakeRestServer silent() throws Exception {
        return FakeRestServer.that((request, out) -> {
            executed.incrementAndGet();
            return true;
        });
    }

    private FakeRestServer full() throws Exception {
        return FakeRestServer.that((request, out) -> {
            executed.incrementAndGet();
            write(out, FULL);
            return true;
        });
    }

    private Cluster cluster(Set<RetryOn> on, FakeRestServer one, FakeRestServer two) {
        return fleet.cluster(UpstreamProtocol.REST, on, null, one.endpoint(), two.endpoint());
    }

    private void infersFour(Cluster cluster) throws Exception {
        for (int i = 0; i < 4; i++) {
            fleet.infer(cluster).response().release();
        }
    }

    @Test
    void refusedConnection_isPassedOver() throws Exception {
        try (var other = FakeRestServer.sending(ok("{}"))) {
            infersFour(fleet.cluster(
                    UpstreamProtocol.REST, DEFAULT, null, TestConfigs.unusedEndpoint(), other.endpoint()));
        }
    }

    @Test
    void lostConnection_isNotTriedAgain_withoutOptIn() throws Exception {
        try (var one = closing();
                var two = closing()) {
            OipException failure = fleet.infer(cluster(DEFAULT, one, two)).failure();
            assertThat(failure).hasMessage("upstream 'triton' closed the connection");
            assertThat(failure.processed()).isEqualTo(Processed.MAYBE);
            assertThat(executed).hasValue(1);
        }
    }

    @Test
    void lostConnection_isPassedOver_withOptIn() throws Exception {
        try (var bad = closing();
                var other = FakeRestServer.sending(ok("{}"))) {
            infersFour(cluster(ALL, bad, other));
        }
    }

    @Test
    void unavailable_isTriedElsewhereOnce() throws Exception {
        try (var one = full();
                var two = full()) {
            assertThat(fleet.infer(cluster(DEFAULT, one, two)).failure()).hasMessage("full");
            assertThat(executed).hasValue(2);
            assertThat(fleet.retries(RetryOn.UNAVAILABLE)).isEqualTo(1);
        }
    }

    @Test
    void unavailable_isPassedOver() throws Exception {
        try (var bad = full();
                var other = FakeRestServer.sending(ok("{}"))) {
            infersFour(cluster(DEFAULT, bad, other));
        }
    }

    private FakeRestServer busyFor(String seconds) throws Exception {
        return FakeRestServer.that((request, out) -> {
            executed.incrementAndGet();
            write(out, FULL.replace("Content-Length", "Retry-After: " + seconds + "\r\nContent-Length"));
            return true;
        });
    }

    @Test
    void retryAfter_longerThanTheCallMayTake_endsIt() throws Exception {
        try (var server = busyFor("3600")) {
            Cluster cluster = fleet.cluster(UpstreamProtocol.REST, DEFAULT, null, server.endpoint());
            OipException failure = fleet.infer(cluster).failure();
            assertThat(failure).hasMessage("full");
            assertThat(failure.retryAfter())
                    .as("the header itself is forwarded")
                    .isEmpty();
            assertThat(executed).hasValue(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "0", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", "99999999999999999999", ""})
    void retryAfter_isWaitedFor_orIgnoredIfItIsNoNumber(String value) throws Exception {
        try (var server = busyFor(value)) {
            fleet.infer(fleet.cluster(UpstreamProtocol.REST, DEFAULT, null, server.endpoint()))
                    .failure();
            assertThat(executed).hasValue(2);
        }
    }

    @Test
    void retryAfter_concernsItsServerOnly() throws Exception {
        try (var busy = busyFor("3600");
                var other = FakeRestServer.sending(ok("{}"))) {
            infersFour(cluster(DEFAULT, busy, other));
        }
    }

    @Test
    void errorOfTheRequest_isExecutedOnce() throws Exception {
        var bad = "HTTP/1.1 500 No\r\nContent-Length: 16\r\n\r\n{\"error\":\"fail\"}";
        try (var one = FakeRestServer.sending(bad);
                var two = FakeRestServer.sending(bad)) {
            assertThat(fleet.infer(cluster(ALL, one, two)).failure()).hasMessage("fail");
            assertThat(fleet.meters
                            .get("isthmus.upstream.requests")
                            .tag("outcome", "error")
                            .timer()
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void slowTry_isCancelled_andNotRepeatedWithoutOptIn() throws Exception {
        try (var one = silent();
                var two = silent()) {
            Cluster cluster = fleet.cluster(
                    UpstreamProtocol.REST, DEFAULT, Duration.ofMillis(500), one.endpoint(), two.endpoint());
            OipException failure = fleet.infer(cluster).failure();
            assertThat(failure.message()).matches("upstream 'triton' did not respond within \\d+ ms");
            assertThat(executed.get()).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void slowTry_isPassedOver_withOptIn() throws Exception {
        try (var slow = silent();
                var other = FakeRestServer.sending(ok("{}"))) {
            infersFour(fleet.cluster(
                    UpstreamProtocol.REST, ALL, Duration.ofMillis(1500), slow.endpoint(), other.endpoint()));
        }
    }

    @Test
    void cancel_whileAServerIsSilent_closesItsConnection() throws Exception {
        try (var one = silent()) {
            RecordedReply reply = fleet.infer(fleet.cluster(UpstreamProtocol.REST, ALL, null, one.endpoint()));
            one.request();
            reply.cancel();
            one.awaitConnectionClosed();
            fleet.bench().settle();
            assertThat(reply.ended()).isFalse();
            assertThat(executed).hasValue(1);
        }
    }
}

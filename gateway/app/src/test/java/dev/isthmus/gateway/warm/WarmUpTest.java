package dev.isthmus.gateway.warm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class WarmUpTest {

    @Test
    void round_getsAllResponses() throws Exception {
        SteadyStateDetector oneRound = new SteadyStateDetector(1, 0);
        assertThat(WarmUpWorkload.run(
                        oneRound, new TimeLimit(Duration.ofMinutes(2), Duration.ofHours(1)), WarmUpPacing.FULL))
                .isEqualTo(2 * (3 * 200 + 2) + 3 * 2 * 4);
    }

    @Test
    void round_leavesTheAllocatorOfClientsAlone() throws Exception {
        long before = clientsMemory();
        WarmUpWorkload.run(
                new SteadyStateDetector(1, 0),
                new TimeLimit(Duration.ofMinutes(2), Duration.ofHours(1)),
                WarmUpPacing.FULL);
        assertThat(clientsMemory()).isEqualTo(before);
    }

    private static long clientsMemory() {
        return ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT)
                .metric()
                .usedDirectMemory();
    }

    @Test
    void time_isUp_endsItAndItsThreads() {
        WarmUp warmUp = new WarmUp();
        assertThat(warmUp.finished()).isFalse();
        warmUp.begin(Duration.ofMillis(1), Duration.ZERO, () -> false, () -> {});
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(warmUp.finished()).isTrue());
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(WarmUp.THREADS.activeCount()).isZero());
    }

    @Test
    void noTime_isOverAtOnce() {
        WarmUp warmUp = new WarmUp();
        warmUp.begin(Duration.ZERO, Duration.ofMinutes(2), () -> false, () -> {});
        assertThat(warmUp.finished()).isTrue();
        assertThat(warmUp.ended()).isTrue();
    }

    @Test
    void clientThatCalls_pausesWhatGoesOnAfterwards() throws Exception {
        AtomicBoolean calls = new AtomicBoolean(true);
        AtomicInteger looks = new AtomicInteger();
        TimeLimit limit = new TimeLimit(Duration.ofMinutes(2), Duration.ofHours(1));
        WarmUpPacing pacing = WarmUpPacing.whileIdle(() -> {
            // A client calls again in the middle of the first round.
            boolean again = looks.incrementAndGet() == 2_000;
            return calls.get() || again;
        });
        assertThat(pacing.pauses()).isTrue();
        assertThat(WarmUpWorkload.run(
                        new SteadyStateDetector(1, 0), new TimeLimit(Duration.ZERO, Duration.ZERO), pacing))
                .isZero();
        calls.set(false);
        pacing.awaitIdle(limit);
        assertThat(pacing.pauses()).isFalse();
        looks.set(1_000);
        int whole = 2 * (3 * 200 + 2) + 3 * 2 * 4;
        // The round that was cut short does not count, so a whole one follows it.
        assertThat(WarmUpWorkload.run(new SteadyStateDetector(1, 0), limit, pacing))
                .isGreaterThan(whole)
                .isLessThan(2 * whole);
    }

    @Test
    void warmUp_goesOnWhenItHasFinished() {
        WarmUp warmUp = new WarmUp();
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        warmUp.show(meters);
        AtomicBoolean ended = new AtomicBoolean();
        warmUp.begin(Duration.ofMillis(1), Duration.ofSeconds(10), () -> false, () -> ended.set(warmUp.ended()));
        await().atMost(Duration.ofMinutes(2)).until(warmUp::ended);
        assertThat(ended).isFalse();
        assertThat(meters.get("isthmus.warm.up.requests").gauge().value()).isPositive();
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(WarmUp.THREADS.activeCount()).isZero());
    }

    @Test
    void gateway_isNotReadyBefore() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(Listener.DEFAULT.at("127.0.0.1", 0));
        AtomicBoolean warm = new AtomicBoolean();
        try (Gateway gateway = Gateway.start(() -> config, warm::get);
                HttpClient client = HttpClient.newHttpClient()) {
            gateway.awaitLocalModels();
            await().until(() -> gateway.catalogue().settled());
            await().until(() ->
                    gateway.catalogue().membersDocument(true).path("missing").isEmpty());
            assertThat(gateway.ready()).isFalse();
            assertThat(ready(client, gateway)).isEqualTo(400);
            JsonNode servers = gateway.catalogue().membersDocument(true);
            assertThat(servers.path("ready").asBoolean()).isFalse();
            assertThat(servers.path("reason").asText()).isEqualTo("warming up");
            assertThat(servers.path("missing")).isEmpty();
            warm.set(true);
            assertThat(gateway.ready()).isTrue();
            assertThat(ready(client, gateway)).isEqualTo(200);
        }
    }

    private static int ready(HttpClient client, Gateway gateway) throws Exception {
        InetSocketAddress address = gateway.addresses().get(0);
        URI uri = URI.create("http://127.0.0.1:" + address.getPort() + "/v2/health/ready");
        return client.send(
                        HttpRequest.newBuilder(uri)
                                .version(HttpClient.Version.HTTP_1_1)
                                .build(),
                        BodyHandlers.discarding())
                .statusCode();
    }
}

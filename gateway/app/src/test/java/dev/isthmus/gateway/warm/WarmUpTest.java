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
import org.junit.jupiter.api.Test;

class WarmUpTest {

    @Test
    void round_getsAllResponses() throws Exception {
        SteadyStateDetector oneRound = new SteadyStateDetector(1, 0);
        assertThat(WarmUpWorkload.run(oneRound, new TimeLimit(Duration.ofMinutes(2), Duration.ofHours(1))))
                .isEqualTo(2 * (3 * 200 + 2) + 3 * 2 * 4);
    }

    @Test
    void round_leavesTheAllocatorOfClientsAlone() throws Exception {
        long before = clientsMemory();
        WarmUpWorkload.run(new SteadyStateDetector(1, 0), new TimeLimit(Duration.ofMinutes(2), Duration.ofHours(1)));
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
        warmUp.begin(Duration.ofMillis(1), () -> {});
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(warmUp.finished()).isTrue());
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(WarmUp.THREADS.activeCount()).isZero());
    }

    @Test
    void noTime_isOverAtOnce() {
        WarmUp warmUp = new WarmUp();
        warmUp.begin(Duration.ZERO, () -> {});
        assertThat(warmUp.finished()).isTrue();
    }

    @Test
    void warmUp_showsItsRequests() {
        WarmUp warmUp = new WarmUp();
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        warmUp.show(meters);
        warmUp.run(Duration.ofSeconds(10));
        assertThat(meters.get("isthmus.warm.up.requests").gauge().value()).isPositive();
    }

    @Test
    void gateway_isNotReadyBefore() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(new Listener("127.0.0.1", 0));
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

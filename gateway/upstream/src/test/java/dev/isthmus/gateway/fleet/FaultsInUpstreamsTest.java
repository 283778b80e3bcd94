package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * An upstream that throws, against its contract: the call fails, and its places are free again. {@link FleetBench} checks
 * that no call is under way at the end.
 */
class FaultsInUpstreamsTest {
    private static final int CALLS = 3;

    /** One call at a time, by both limits. */
    private static UpstreamConfig one(Map<String, Object> further) {
        Map<String, Object> settings = new HashMap<>(further);
        settings.put("maxRequests", 1);
        settings.put("adaptiveConcurrency", new AdaptiveConcurrency(1, 1, 0.25, Duration.ofSeconds(30)));
        return TestConfigs.with(FleetBench.config(), settings);
    }

    private static void assertFailed(ClientReply reply) {
        assertThat(reply.failure().code()).isEqualTo(ErrorCode.INTERNAL);
        assertThat(reply.failure().message()).isEqualTo("internal error");
    }

    private static void assertServes(FleetBench bench) {
        bench.one.broken = false;
        ClientReply reply = bench.infer();
        bench.one.last().respond();
        assertThat(reply.complete).isTrue();
    }

    @Test
    void placeOfTheCall_isGivenBack_andTheServerIsNotBlamed() {
        try (FleetBench bench = FleetBench.ofOne(one(Map.of()))) {
            bench.one.broken = true;
            for (int i = 0; i < CALLS; i++) {
                assertFailed(bench.infer());
            }
            assertThat(bench.one.requests).isEmpty();
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(CALLS);
            assertThat(bench.tries(CallOutcome.ERROR)).isZero();
            assertServes(bench);
        }
    }

    @Test
    void callThatHasWaited_givesItsPlaceToTheNext() {
        try (FleetBench bench = FleetBench.ofOne(one(Map.of("queue", DefaultValues.of(QueueConfig.class))))) {
            bench.infer();
            List<ClientReply> waiting = List.of(bench.infer(), bench.infer());
            bench.one.broken = true;
            bench.one.only().respond();
            bench.run();
            waiting.forEach(FaultsInUpstreamsTest::assertFailed);
            assertServes(bench);
        }
    }

    @Test
    void secondAttemptOfAHedgedCall_leavesTheFirst() {
        var hedging = new Hedging(0.95, 1, Duration.ofMillis(1));
        try (FleetBench bench = FleetBench.of(TestConfigs.with(FleetBench.config(), Map.of("hedging", hedging)))) {
            for (int i = 0; i < 110; i++) {
                List<ReceivedRequest> before = bench.requests();
                bench.infer();
                bench.advance(10);
                bench.onlyNew(before).respond();
            }
            List<ReceivedRequest> before = bench.requests();
            ClientReply reply = bench.infer();
            ReceivedRequest first = bench.onlyNew(before);
            bench.one.broken = true;
            bench.two.broken = true;
            bench.advance(12);
            assertThat(bench.count("isthmus.upstream.hedges", "event", "sent")).isOne();
            assertThat(reply.ended()).isFalse();
            first.respond();
            assertThat(reply.complete).isTrue();
        }
    }

    @Test
    void placeOfAStream_isGivenBack() {
        try (FleetBench bench = FleetBench.ofOne(one(Map.of()))) {
            bench.one.broken = true;
            for (int i = 0; i < CALLS; i++) {
                ClientReply reply = new ClientReply();
                UpstreamStream stream = bench.cluster().inferStream(bench.call(), FleetBench.MODEL, reply);
                assertFailed(reply);
                stream.cancel();
            }
            assertServes(bench);
        }
    }

    @Test
    void lackOfMemoryInTheGateway_isNoFailureOfTheServer() {
        try (FleetBench bench = FleetBench.ofOne(one(Map.of()))) {
            bench.infer();
            bench.one.only().fail(ErrorCode.OVERLOADED, Processed.YES);
            assertThat(bench.tries(CallOutcome.CANCELLED)).isOne();
        }
    }
}

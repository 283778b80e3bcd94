package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CircuitBreakersTest {
    private static final Breaker BREAKER = new Breaker(0.5, 10, 4, Duration.ofSeconds(5));

    /** A call that fails before any response. */
    private static void failing(FleetBench bench) {
        bench.infer();
        bench.one.last().fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
    }

    private static FleetBench broken() {
        FleetBench bench = FleetBench.ofOne(FleetBench.breaking(BREAKER));
        for (int i = 0; i < 4; i++) {
            failing(bench);
        }
        return bench;
    }

    @Test
    void breaker_opensWhereMostCallsFail() {
        try (var bench = FleetBench.ofOne(FleetBench.breaking(BREAKER))) {
            for (int i = 0; i < 3; i++) {
                failing(bench);
            }
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isZero();
            failing(bench);
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isEqualTo(2);
            ClientReply refused = bench.infer();
            assertThat(refused.failure()).hasMessage("upstream 'triton' rejects calls for 5 s (circuit breaker open)");
            assertThat(refused.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(refused.failure().processed()).isEqualTo(Processed.NO);
            assertThat(refused.failure().retryAfter()).contains(Duration.ofSeconds(5));
            assertThat(bench.one.requests).hasSize(4);
            assertThat(bench.count("isthmus.upstream.rejected", "cause", "breaker"))
                    .isEqualTo(1);
        }
    }

    @Test
    void openBreaker_saysHowLongItIsStillOpen() {
        try (var bench = broken()) {
            bench.advance(3000);
            assertThat(bench.infer().failure().retryAfter()).contains(Duration.ofSeconds(2));
        }
    }

    @Test
    void openBreaker_leavesProbesThrough() {
        try (var bench = broken()) {
            bench.cluster().send(bench.call(), new UpstreamRequest.ServerReadyRequest(), new ClientReply());
            assertThat(bench.one.requests).hasSize(5);
            bench.one.last().reply.complete();
        }
    }

    @Test
    void halfOpenBreaker_letsTenTry_andClosesWhereTheySucceed() {
        try (var bench = broken()) {
            bench.advance(5001);
            List<FakeUpstream.ReceivedRequest> trials = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                assertThat(bench.infer().ended()).isFalse();
                trials.add(bench.one.last());
            }
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isEqualTo(1);
            assertThat(bench.infer().failure().retryAfter()).contains(Duration.ofSeconds(1));
            trials.forEach(FakeUpstream.ReceivedRequest::respond);
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isZero();
        }
    }

    @Test
    void cancelledTrial_isGivenBack() {
        try (var bench = broken()) {
            bench.advance(5001);
            for (int i = 0; i < 30; i++) {
                ClientReply seen = bench.infer();
                assertThat(seen.ended()).isFalse();
                seen.cancellation.cancel();
            }
        }
    }

    @Test
    void idleStreams_doNotHoldTheTrials() {
        try (var bench = broken()) {
            bench.advance(5001);
            List<UpstreamStream> streams = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                streams.add(bench.cluster().inferStream(bench.call(), FleetBench.MODEL, new ClientReply()));
            }
            assertThat(bench.infer().ended()).isFalse();
            bench.one.last().respond();
            streams.forEach(UpstreamStream::cancel);
        }
    }

    @Test
    void callThatASecondTrySaves_isNoFailure() {
        try (var bench = FleetBench.of(FleetBench.breaking(BREAKER))) {
            for (int i = 0; i < 10; i++) {
                List<FakeUpstream.ReceivedRequest> before = bench.requests();
                bench.infer();
                FakeUpstream.ReceivedRequest first = bench.onlyNew(before);
                before = bench.requests();
                first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
                bench.onlyNew(before).respond();
            }
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isZero();
        }
    }

    @Test
    void errorsOfRequests_doNotOpenTheBreaker() {
        try (var bench = FleetBench.ofOne(FleetBench.breaking(BREAKER))) {
            for (int i = 0; i < 20; i++) {
                bench.infer();
                bench.one.last().fail(ErrorCode.INVALID_ARGUMENT, Processed.YES);
            }
            assertThat(bench.gauge("isthmus.upstream.breaker.state")).isZero();
        }
    }

    @Test
    void breakerAtAHundredPercent_neverOpens() {
        try (var bench = FleetBench.ofOne(FleetBench.breaking(new Breaker(1, 10, 4, Duration.ofSeconds(5))))) {
            for (int i = 0; i < 20; i++) {
                failing(bench);
            }
            assertThat(bench.one.requests).hasSize(20);
        }
    }

    @Test
    void bulkhead_refusesBeyondItsPlaces_untilOneIsLeft() {
        UpstreamConfig config = FleetBench.config();
        try (var bench = FleetBench.ofOne(config)) {
            List<ClientReply> inside = new ArrayList<>();
            for (int i = 0; i < bench.maxRequests(); i++) {
                inside.add(bench.infer());
            }
            ClientReply refused = bench.infer();
            assertThat(refused.failure()).hasMessage("upstream 'triton' has too many concurrent calls (limit 1000)");
            assertThat(refused.failure().retryAfter()).contains(Duration.ofSeconds(1));
            assertThat(bench.gauge("isthmus.upstream.under.way")).isEqualTo(1000);
            bench.one.last().respond();
            assertThat(bench.infer().ended()).isFalse();
            bench.one.last().respond();
            inside.forEach(seen -> seen.cancellation.cancel());
        }
    }

    @Test
    void stream_isPickedOnceAndHoldsAPlace() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = new ClientReply();
            UpstreamStream stream = bench.cluster().inferStream(bench.call(), FleetBench.MODEL, seen);
            stream.send(bench.call(), new UpstreamRequest.InferenceRequest(FleetBench.MODEL, bench.message(10)), false);
            stream.send(bench.call(), new UpstreamRequest.InferenceRequest(FleetBench.MODEL, bench.message(10)), false);
            assertThat(bench.onlyNew(List.of()).sent).isEqualTo(2);
            assertThat(bench.gauge("isthmus.upstream.under.way")).isEqualTo(1);
            bench.onlyNew(List.of()).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
            stream.cancel();
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
        }
    }
}

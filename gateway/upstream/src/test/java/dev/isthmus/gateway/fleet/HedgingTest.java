package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HedgingTest {
    private static UpstreamConfig hedging(double budget) {
        return hedging(budget, FleetBench.RETRY);
    }

    private static UpstreamConfig hedging(double budget, Retry retry) {
        return TestConfigs.with(
                FleetBench.config(),
                Map.of("hedging", new Hedging(0.95, budget, Duration.ofMillis(1)), "retry", retry));
    }

    /** Calls of 10 ms, long enough for the latency of the model to be known; it is at most an eighth more. */
    private static FleetBench warm(UpstreamConfig config) {
        FleetBench bench = FleetBench.of(config);
        for (int i = 0; i < 110; i++) {
            answered(bench);
        }
        return bench;
    }

    private static void answered(FleetBench bench) {
        List<ReceivedRequest> before = bench.requests();
        ClientReply reply = bench.infer();
        bench.advance(10);
        bench.onlyNew(before).respond();
        assertThat(reply.complete).isTrue();
    }

    /** A call that has been sent to both servers, the first one first. */
    private record Hedged(ClientReply reply, ReceivedRequest first, ReceivedRequest second) {

        static Hedged on(FleetBench bench) {
            List<ReceivedRequest> before = bench.requests();
            ClientReply reply = bench.infer();
            ReceivedRequest first = bench.onlyNew(before);
            List<ReceivedRequest> withFirst = bench.requests();
            bench.advance(12);
            return new Hedged(reply, first, bench.onlyNew(withFirst));
        }
    }

    private static double count(FleetBench bench, String event) {
        return bench.count("isthmus.upstream.hedges", "event", event);
    }

    private static int sent(FleetBench bench) {
        return bench.requests().size();
    }

    @Test
    void aCallThatIsLate_goesToTheOtherServer_whoseAnswerCounts() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            assertThat(bench.one.requests.contains(call.first()))
                    .isNotEqualTo(bench.one.requests.contains(call.second()));
            call.second().respond();

            assertThat(call.reply().complete).isTrue();
            assertThat(call.reply().messages).hasSize(1);
            assertThat(call.first().cancelled).isTrue();
            assertThat(call.second().cancelled).isFalse();
            assertThat(bench.held()).isZero();
            // Too late.
            call.first().respond();
            assertThat(call.reply().messages).hasSize(1);
            assertThat(count(bench, "sent")).isOne();
            assertThat(count(bench, "won")).isOne();
        }
    }

    @Test
    void theFirstServer_mayStillBeFaster() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            call.first().respond();

            assertThat(call.reply().complete).isTrue();
            assertThat(call.second().cancelled).isTrue();
            assertThat(bench.held()).isZero();
            assertThat(count(bench, "won")).isZero();
        }
    }

    @Test
    void headers_areThoseOfTheAnswer() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);
            call.first().reply.headers(Map.of("x-server", "first"));
            call.second().reply.headers(Map.of("x-server", "second"));

            call.second().respond();

            assertThat(call.reply().headers).isEqualTo(Map.of("x-server", "second"));
        }
    }

    @Test
    void anAnswerInParts_isThatOfOneServer() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            call.second().part();
            assertThat(call.first().cancelled).isTrue();
            call.first().part();
            call.second().part();
            call.second().reply.complete();

            assertThat(call.reply().messages).hasSize(2);
            assertThat(call.reply().complete).isTrue();
        }
    }

    @Test
    void callsInTime_areSentOnce() {
        try (FleetBench bench = warm(hedging(0.05))) {
            answered(bench);
            bench.advance(100);

            assertThat(sent(bench)).isEqualTo(111);
        }
    }

    @Test
    void aFailureOfOneServer_leavesTheOther() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);
            call.first().fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            assertThat(call.reply().ended()).isFalse();
            call.second().respond();
            assertThat(call.reply().complete).isTrue();

            Hedged other = Hedged.on(bench);
            other.second().fail(ErrorCode.INTERNAL, Processed.YES);
            assertThat(other.reply().ended()).isFalse();
            other.first().respond();
            assertThat(other.reply().complete).isTrue();
        }
    }

    @Test
    void ifBothFail_theCallFailsOnce() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            call.first().fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            call.second().fail(ErrorCode.INTERNAL, Processed.YES);

            assertThat(call.reply().failure().code()).isEqualTo(ErrorCode.INTERNAL);
            assertThat(bench.held()).isZero();
        }
    }

    @Test
    void whatIsWrongWithTheRequest_isAnAnswer() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            call.second().fail(ErrorCode.INVALID_ARGUMENT, Processed.YES);

            assertThat(call.reply().failure().code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(call.first().cancelled).isTrue();
            assertThat(bench.held()).isZero();
        }
    }

    @Test
    void aClientThatCancels_cancelsBoth() {
        try (FleetBench bench = warm(hedging(0.05))) {
            Hedged call = Hedged.on(bench);

            call.reply().cancellation.cancel();

            assertThat(call.first().cancelled).isTrue();
            assertThat(call.second().cancelled).isTrue();
            assertThat(bench.held()).isZero();
        }
    }

    @Test
    void aClientThatCancelsBefore_sendsNothingMore() {
        try (FleetBench bench = warm(hedging(0.05))) {
            bench.infer().cancellation.cancel();
            bench.advance(100);

            assertThat(sent(bench)).isEqualTo(111);
        }
    }

    @Test
    void aCallThatFailsBeforeItIsLate_isRetriedOnly() {
        try (FleetBench bench = warm(hedging(0.05))) {
            List<ReceivedRequest> before = bench.requests();
            ClientReply reply = bench.infer();
            bench.onlyNew(before).fail(ErrorCode.UNAVAILABLE, Processed.YES);
            assertThat(sent(bench)).isEqualTo(112);

            bench.advance(100);
            assertThat(sent(bench)).isEqualTo(112);
            reply.cancellation.cancel();
        }
    }

    @Test
    void theBudget_limitsSecondAttempts() {
        try (FleetBench bench = warm(hedging(0.01))) {
            int before = sent(bench);
            // Ten that every budget begins with, one of the 110 calls, and one each second.
            List<ClientReply> replies = Stream.generate(bench::infer).limit(40).toList();
            bench.advance(12);

            assertThat(sent(bench) - before - 40).isEqualTo(12);
            assertThat(count(bench, "budget_exhausted")).isEqualTo(28);
            replies.forEach(reply -> reply.cancellation.cancel());
        }
    }

    @Test
    void withoutRetries_requestsAreKeptForHedging() {
        try (FleetBench bench = warm(hedging(0.05, new Retry(0, Set.of(), 0, 1000)))) {
            Hedged call = Hedged.on(bench);
            call.second().respond();

            assertThat(call.reply().complete).isTrue();
            assertThat(bench.held()).isZero();
        }
    }

    @Test
    void withoutRetries_requestsThatAreKeptForHedging_passInOnePiece() {
        int kept = 32 << 20;
        try (FleetBench bench = FleetBench.of(hedging(0.05, new Retry(0, Set.of(), 0, kept)))) {
            assertThat(bench.cluster().passesFrom()).isEqualTo(kept);
        }
    }

    @Test
    void whatMustNotRunTwiceOrIsNotKept_isNotHedged() {
        try (FleetBench bench = warm(hedging(0.05, new Retry(1, FleetBench.RETRY.on(), 0.2, 1000)))) {
            int before = sent(bench);
            List<ClientReply> replies = List.of(
                    bench.infer(bench.call(), 1001), bench.events(bench.call()), bench.infer(sequence(bench), 10));
            bench.advance(100);

            assertThat(sent(bench)).isEqualTo(before + 3);
            replies.forEach(reply -> reply.cancellation.cancel());
        }
    }

    private static Call sequence(FleetBench bench) {
        return bench.call().withAffinity(7, Call.EARLIER);
    }

    @Test
    void withOneServer_nothingIsHedged() {
        try (FleetBench bench = FleetBench.ofOne(hedging(0.05))) {
            for (int i = 0; i < 110; i++) {
                answered(bench);
            }
            ClientReply reply = bench.infer();
            bench.advance(12);

            assertThat(sent(bench)).isEqualTo(111);
            assertThat(count(bench, "no_server")).isOne();
            reply.cancellation.cancel();
        }
    }

    @Test
    void withoutTheSection_thereIsNoMeter() {
        try (FleetBench bench = FleetBench.of(FleetBench.config())) {
            assertThat(bench.meters.find("isthmus.upstream.hedges").counters()).isEmpty();
        }
    }
}

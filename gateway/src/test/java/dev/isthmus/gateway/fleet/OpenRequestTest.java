package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.config.TestConfigs;
import dev.isthmus.gateway.config.UpstreamConfig;
import dev.isthmus.gateway.config.UpstreamConfig.Breaker;
import dev.isthmus.gateway.config.UpstreamConfig.Retry;
import dev.isthmus.gateway.config.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.fleet.FleetBench.Seen;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Requests that are given to their server in parts. */
class OpenRequestTest {
    private static final int LENGTH = 1000;

    /** A call and what its request is given to. */
    private record Open(FleetBench bench, Seen seen, RequestSink request) {
        static Open at(FleetBench bench) {
            Seen seen = new Seen();
            return new Open(bench, seen, bench.cluster().inferParts(bench.call(), FleetBench.MODEL, LENGTH, seen));
        }

        /** Gives so many bytes. */
        Open give(int bytes) {
            assertThat(request.writable()).isTrue();
            request.data(bench.part(bytes));
            return this;
        }
    }

    private static FakeServer.Asked only(FleetBench bench) {
        return bench.onlyNew(List.of());
    }

    @Test
    void parts_goToTheServerOnceItTakesThem() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            assertThat(open.request.writable()).isFalse();
            only(bench).open();
            assertThat(open.seen.readMore).isEqualTo(1);
            open.give(400).give(600).request.end();
            assertThat(only(bench).sent).isEqualTo(LENGTH);
            assertThat(only(bench).ended).isTrue();
            only(bench).answer();
            assertThat(open.seen.complete).isTrue();
            assertThat(bench.tries(Outcome.ANSWERED)).isEqualTo(1);
        }
    }

    @Test
    void failureBeforeTheFirstPart_isRepeatedAtAnotherServer_withNothingLost() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            assertThat(bench.one.asked).hasSize(1);
            assertThat(bench.two.asked).hasSize(1);
            second.open();
            open.give(LENGTH).request.end();
            second.answer();
            assertThat(open.seen.complete).isTrue();
            assertThat(first.sent).isZero();
            assertThat(second.sent).isEqualTo(LENGTH);
            assertThat(bench.count("isthmus.upstream.retries", "reason", "unsent"))
                    .isEqualTo(1);
            assertThat(bench.tries(Outcome.FAILED)).isEqualTo(1);
            assertThat(bench.tries(Outcome.ANSWERED)).isEqualTo(1);
        }
    }

    @Test
    void failureAtOnce_isRepeated_andPartsGoToTheServerThatTakesThem() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            bench.one.refusing = true;
            bench.two.refusing = true;
            assertThat(Open.at(bench).seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(bench.asked()).hasSize(2);
            bench.two.refusing = false;
            // Whichever of the two is asked first.
            for (int i = 0; i < 4; i++) {
                Open open = Open.at(bench);
                bench.two.last().open();
                open.give(LENGTH).request.end();
                bench.two.last().answer();
                assertThat(bench.two.last().sent).isEqualTo(LENGTH);
                assertThat(open.seen.complete).isTrue();
            }
        }
    }

    @Test
    void failureAfterTheFirstPart_ofARequestThatIsNotKept_isNeverRepeated() {
        try (var bench = FleetBench.of(FleetBench.retrying(keeping(LENGTH - 1)))) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            assertThat(open.request.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(open.seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(bench.asked()).hasSize(1);
            assertThat(bench.tries(Outcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void failureBeforeTheFirstPart_isNotRepeated_withoutRetries() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(0, Set.of(RetryOn.UNSENT), 0.2, 100)))) {
            Open open = Open.at(bench);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(open.seen.failure).isNotNull();
            assertThat(bench.asked()).hasSize(1);
        }
    }

    @Test
    void serverThatStopsTakingParts_stopsTheSender() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(10);
            only(bench).open = false;
            assertThat(open.request.writable()).isFalse();
            only(bench).open();
            assertThat(open.seen.readMore).isEqualTo(2);
            open.give(10).request.cancel();
            assertThat(only(bench).cancelled).isTrue();
            assertThat(bench.tries(Outcome.CANCELLED)).isEqualTo(1);
            assertThat(open.seen.ended()).isFalse();
        }
    }

    @Test
    void clientThatIsSlowToSend_isNoFailureOfTheServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(open.seen.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(bench.tries(Outcome.CANCELLED)).isEqualTo(1);
        }
    }

    @Test
    void serverThatIsSlowToTake_fails() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            only(bench).open = false;
            assertThat(open.request.writable()).isFalse();
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(bench.tries(Outcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void timeout_countsFromTheOpening() {
        try (var bench = FleetBench.of(TestConfigs.with(
                FleetBench.config(), Map.of("timeout", Duration.ofMillis(100), "tryTimeout", Duration.ofMillis(50))))) {
            Open open = Open.at(bench);
            FakeServer.Asked asked = only(bench);
            assertThat(asked.call.deadlineNanos())
                    .isEqualTo(1_000 + Duration.ofMillis(50).toNanos());
            open.request.cancel();
        }
    }

    @Test
    void openRequests_countInTheBulkhead() {
        var config = TestConfigs.with(FleetBench.config(), Map.of("maxRequests", 1));
        try (var bench = FleetBench.of(config)) {
            Open first = Open.at(bench);
            assertThat(bench.gauge("isthmus.upstream.under.way")).isEqualTo(1);
            Open second = Open.at(bench);
            assertThat(second.seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(second.request.writable()).isFalse();
            assertThat(bench.count("isthmus.upstream.rejected", "reason", "bulkhead"))
                    .isEqualTo(1);
            first.request.cancel();
            Open third = Open.at(bench);
            assertThat(third.seen.ended()).isFalse();
            third.request.cancel();
        }
    }

    @Test
    void failedOpenRequests_openTheBreaker() {
        var breaker = new Breaker(0.5, 2, 2, Duration.ofSeconds(10));
        try (var bench = FleetBench.of(TestConfigs.with(FleetBench.breaking(breaker), Map.of("retry", noRetries())))) {
            for (int i = 0; i < 2; i++) {
                List<FakeServer.Asked> before = bench.asked();
                Open open = Open.at(bench);
                FakeServer.Asked asked = bench.onlyNew(before);
                asked.open();
                open.give(1);
                asked.fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            }
            assertThat(Open.at(bench).seen.failure().message()).contains("has failed too often");
            assertThat(bench.asked()).hasSize(2);
        }
    }

    private static Retry noRetries() {
        return new Retry(0, Set.of(), 0.2, 0);
    }

    private static Retry keeping(int most) {
        return new Retry(1, Set.of(RetryOn.values()), 0.2, most);
    }

    /** What the client gave, as far as this. */
    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    @Test
    void failureAfterTheFirstPart_ofAKeptRequest_isRepeatedFromItsBeginning() {
        try (var bench = FleetBench.of(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.open();
            open.give(300).give(100);
            assertThat(open.request.held()).isEqualTo(400);
            first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            assertThat(open.request.writable()).isFalse();
            second.open();
            assertThat(second.content.toByteArray()).isEqualTo(bytes(400));
            // There is no third try.
            assertThat(open.request.held()).isZero();
            open.give(600);
            assertThat(second.ended).isFalse();
            open.request.end();
            assertThat(second.content.toByteArray()).isEqualTo(bytes(LENGTH));
            assertThat(second.ended).isTrue();
            second.answer();
            assertThat(open.seen.complete).isTrue();
            assertThat(bench.tries(Outcome.FAILED)).isEqualTo(1);
            assertThat(bench.tries(Outcome.ANSWERED)).isEqualTo(1);
        }
    }

    @Test
    void failureAfterTheEnd_ofAKeptRequest_isRepeated_asTheServerTakesIt() {
        try (var bench = FleetBench.ofOne(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.open();
            open.give(300).give(300).give(400).request.end();
            first.fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            bench.advance(100);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            for (int sent : List.of(300, 600)) {
                second.open(1);
                assertThat(second.content.toByteArray()).isEqualTo(bytes(sent));
                assertThat(second.ended).isFalse();
                assertThat(open.request.writable()).isFalse();
            }
            second.open(1);
            assertThat(second.content.toByteArray()).isEqualTo(bytes(LENGTH));
            assertThat(second.ended).isTrue();
            second.answer();
            assertThat(open.seen.complete).isTrue();
        }
    }

    @Test
    void end_thatComesBetweenTwoTries_isToldToTheSecond() {
        try (var bench = FleetBench.ofOne(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.open();
            open.give(LENGTH);
            first.fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            open.request.end();
            bench.advance(100);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            second.open();
            assertThat(second.content.toByteArray()).isEqualTo(bytes(LENGTH));
            assertThat(second.ended).isTrue();
            second.answer();
        }
    }

    @Test
    void serverThatFails_whileItIsSentWhatWasKept_isFollowedByTheNext() {
        Retry twice = new Retry(2, Set.of(RetryOn.values()), 1, LENGTH);
        try (var bench = FleetBench.of(FleetBench.retrying(twice))) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.open();
            open.give(300).give(100);
            first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            second.onPart = () -> second.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            second.open();
            assertThat(second.content.toByteArray()).isEqualTo(bytes(300));
            bench.advance(200);
            FakeServer.Asked third = bench.onlyNew(List.of(first, second));
            third.open();
            open.give(600).request.end();
            assertThat(third.content.toByteArray()).isEqualTo(bytes(LENGTH));
            third.answer();
            assertThat(open.seen.complete).isTrue();
        }
    }

    @Test
    void serverThatAnswers_whileItIsSentWhatWasKept_isSentTheRest() {
        try (var bench = FleetBench.of(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            FakeServer.Asked first = only(bench);
            first.open();
            open.give(300).give(100);
            first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            FakeServer.Asked second = bench.onlyNew(List.of(first));
            second.open(1);
            second.part();
            assertThat(open.request.writable()).isFalse();
            second.open(2);
            open.give(600).request.end();
            assertThat(second.content.toByteArray()).isEqualTo(bytes(LENGTH));
            assertThat(open.request.held()).isZero();
            second.reply.complete();
        }
    }

    @Test
    void answer_endsTheKeeping() {
        try (var bench = FleetBench.of(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(300);
            only(bench).part();
            assertThat(open.request.held()).isZero();
            open.give(700).request.end();
            assertThat(open.request.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(open.seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(bench.asked()).hasSize(1);
        }
    }

    @Test
    void cancelledRequest_isNotKept() {
        try (var bench = FleetBench.of(FleetBench.retrying(keeping(LENGTH)))) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(300).request.cancel();
            assertThat(open.request.held()).isZero();
        }
    }

    @Test
    void time_thatTheClientTakesToSend_isNotTheServers() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            bench.advance(500);
            open.give(LENGTH - 1).request.end();
            bench.advance(20);
            only(bench).answer();
            assertThat(bench.millis(Outcome.ANSWERED)).isEqualTo(20);
            Open gone = Open.at(bench);
            bench.advance(500);
            gone.request.cancel();
            assertThat(bench.millis(Outcome.CANCELLED)).isZero();
        }
    }

    @Test
    void passesFrom_isSmall_unlessAKeptRequestHasLessTimeThanItsClient() {
        assertPassesFrom(FleetBench.retrying(keeping(1 << 20)), GrpcDeframer.LARGE);
        assertPassesFrom(FleetBench.retrying(noRetries()), GrpcDeframer.LARGE);
        Map<String, Object> hurried = Map.of("tryTimeout", Duration.ofSeconds(1));
        assertPassesFrom(TestConfigs.with(FleetBench.retrying(keeping(1 << 20)), hurried), 1 << 20);
        assertPassesFrom(TestConfigs.with(FleetBench.retrying(keeping(100)), hurried), GrpcDeframer.LARGE);
        assertPassesFrom(TestConfigs.with(FleetBench.retrying(noRetries()), hurried), GrpcDeframer.LARGE);
    }

    private static void assertPassesFrom(UpstreamConfig config, long bytes) {
        try (var bench = FleetBench.of(config)) {
            assertThat(bench.cluster().passesFrom()).isEqualTo(bytes);
        }
    }
}

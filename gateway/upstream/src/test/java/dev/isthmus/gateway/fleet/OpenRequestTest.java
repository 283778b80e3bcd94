package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Requests that are forwarded to their server in parts. */
class OpenRequestTest {
    private static final int LENGTH = 1000;

    /** A call and the sink of its request. */
    private record Open(ClientReply seen, UpstreamRequest.InferenceInParts request) {
        static Open at(FleetBench bench) {
            ClientReply seen = new ClientReply();
            UpstreamRequest.InferenceInParts request =
                    new UpstreamRequest.InferenceInParts(FleetBench.MODEL, LENGTH, "");
            seen.cancellation = bench.cluster().send(bench.call(), request, seen);
            return new Open(seen, request);
        }

        /** Sends this many bytes. */
        Open give(int bytes) {
            assertThat(request.isReady()).isTrue();
            ByteBuf part = Unpooled.buffer(bytes).writeZero(bytes);
            request.data(part);
            assertThat(part.refCnt()).isZero();
            return this;
        }
    }

    private static FakeUpstream.ReceivedRequest only(FleetBench bench) {
        return bench.onlyNew(List.of());
    }

    @Test
    void parts_goToTheServerOnceItTakesThem() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            assertThat(open.request.isReady()).isFalse();
            only(bench).open();
            assertThat(open.seen.readMore).isEqualTo(1);
            open.give(400).give(600).request.end();
            assertThat(only(bench).sent).isEqualTo(LENGTH);
            assertThat(only(bench).ended).isTrue();
            only(bench).respond();
            assertThat(open.seen.complete).isTrue();
            assertThat(bench.tries(CallOutcome.ANSWERED)).isEqualTo(1);
        }
    }

    @Test
    void failureBeforeTheFirstPart_isRepeatedAtAnotherServer_withNothingLost() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            FakeUpstream.ReceivedRequest first = only(bench);
            first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
            FakeUpstream.ReceivedRequest second = bench.onlyNew(List.of(first));
            assertThat(bench.one.requests).hasSize(1);
            assertThat(bench.two.requests).hasSize(1);
            second.open();
            open.give(LENGTH).request.end();
            second.respond();
            assertThat(open.seen.complete).isTrue();
            assertThat(first.sent).isZero();
            assertThat(second.sent).isEqualTo(LENGTH);
            assertThat(bench.count("isthmus.upstream.retries", "reason", "unsent"))
                    .isEqualTo(1);
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
            assertThat(bench.tries(CallOutcome.ANSWERED)).isEqualTo(1);
        }
    }

    @Test
    void failureAtOnce_isRepeated_andPartsGoToTheServerThatTakesThem() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            bench.one.refusing = true;
            bench.two.refusing = true;
            assertThat(Open.at(bench).seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(bench.requests()).hasSize(2);
            bench.two.refusing = false;
            // Whichever of the two is tried first.
            for (int i = 0; i < 4; i++) {
                Open open = Open.at(bench);
                bench.two.last().open();
                open.give(LENGTH).request.end();
                bench.two.last().respond();
                assertThat(bench.two.last().sent).isEqualTo(LENGTH);
                assertThat(open.seen.complete).isTrue();
            }
        }
    }

    @Test
    void failureAfterTheFirstPart_isNeverRepeated() {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(open.seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(bench.requests()).hasSize(1);
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void failureBeforeTheFirstPart_isNotRepeated_withoutRetries() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(0, Set.of(RetryOn.UNSENT), 0.2, 100)))) {
            Open open = Open.at(bench);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(open.seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
        }
    }

    @Test
    void serverThatStopsTakingParts_stopsTheSender() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(10);
            only(bench).open = false;
            assertThat(open.request.isReady()).isFalse();
            only(bench).open();
            assertThat(open.seen.readMore).isEqualTo(2);
            open.give(10).seen.cancellation.cancel();
            assertThat(only(bench).cancelled).isTrue();
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
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
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
        }
    }

    @Test
    void serverThatIsSlowToTake_fails() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            Open open = Open.at(bench);
            only(bench).open();
            open.give(1);
            only(bench).open = false;
            assertThat(open.request.isReady()).isFalse();
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void timeout_countsFromTheOpening() {
        try (var bench = FleetBench.of(TestConfigs.with(
                FleetBench.config(), Map.of("timeout", Duration.ofMillis(100), "tryTimeout", Duration.ofMillis(50))))) {
            Open open = Open.at(bench);
            FakeUpstream.ReceivedRequest received = only(bench);
            assertThat(received.call.deadlineNanos())
                    .isEqualTo(1_000 + Duration.ofMillis(50).toNanos());
            open.seen.cancellation.cancel();
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
            assertThat(second.request.isReady()).isFalse();
            assertThat(bench.count("isthmus.upstream.rejected", "cause", "bulkhead"))
                    .isEqualTo(1);
            first.seen.cancellation.cancel();
            Open third = Open.at(bench);
            assertThat(third.seen.ended()).isFalse();
            third.seen.cancellation.cancel();
        }
    }

    @Test
    void failedOpenRequests_openTheBreaker() {
        var breaker = new Breaker(0.5, 2, 2, Duration.ofSeconds(10));
        try (var bench = FleetBench.of(TestConfigs.with(FleetBench.breaking(breaker), Map.of("retry", noRetries())))) {
            for (int i = 0; i < 2; i++) {
                Open open = Open.at(bench);
                FakeUpstream.ReceivedRequest received = bench.requests().stream()
                        .filter(each -> each.reply != null && !each.open)
                        .findFirst()
                        .orElseThrow();
                received.open();
                open.give(1);
                received.fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            }
            assertThat(Open.at(bench).seen.failure().message()).contains("circuit breaker open");
            assertThat(bench.requests()).hasSize(2);
        }
    }

    private static Retry noRetries() {
        return new Retry(0, Set.of(), 0.2, 0);
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
            only(bench).respond();
            assertThat(bench.millis(CallOutcome.ANSWERED)).isEqualTo(20);
            Open gone = Open.at(bench);
            bench.advance(500);
            gone.seen.cancellation.cancel();
            assertThat(bench.millis(CallOutcome.CANCELLED)).isZero();
        }
    }

    @Test
    void passesFrom_isWhatRetriesKeep_butNeverLittle() {
        assertPassesFrom(new Retry(1, Set.of(), 0.2, 1 << 20), 1 << 20);
        assertPassesFrom(new Retry(1, Set.of(), 0.2, 100), GrpcDeframer.LARGE);
        assertPassesFrom(new Retry(0, Set.of(), 0.2, 1 << 20), GrpcDeframer.LARGE);
    }

    private static void assertPassesFrom(Retry retry, long bytes) {
        try (var bench = FleetBench.of(FleetBench.retrying(retry))) {
            assertThat(bench.cluster().passesFrom()).isEqualTo(bytes);
        }
    }
}

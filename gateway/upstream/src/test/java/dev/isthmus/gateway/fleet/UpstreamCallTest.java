package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class UpstreamCallTest {

    private static FakeUpstream.ReceivedRequest only(FleetBench bench) {
        return bench.onlyNew(List.of());
    }

    /** Fails the only request so far. */
    private static FakeUpstream.ReceivedRequest failFirst(FleetBench bench, ErrorCode code, Processed processed) {
        FakeUpstream.ReceivedRequest first = only(bench);
        first.fail(code, processed);
        return first;
    }

    @Test
    void unsent_isSentToAnotherServerAtOnce() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(bench.one.requests).hasSize(1);
            assertThat(bench.two.requests).hasSize(1);
            bench.onlyNew(List.of(first)).respond();
            assertThat(seen.complete).isTrue();
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
            assertThat(bench.tries(CallOutcome.ANSWERED)).isEqualTo(1);
            assertThat(bench.count("isthmus.upstream.retries", "reason", "unsent"))
                    .isEqualTo(1);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "INTERNAL, YES, ERROR",
        "UNKNOWN, YES, ERROR",
        "DATA_LOSS, YES, ERROR",
        "UNAVAILABLE, YES, UNAVAILABLE",
        "UNAVAILABLE, NO, FAILED",
        "UNAVAILABLE, MAYBE, FAILED",
        "UNAVAILABLE, REFUSED, CANCELLED",
        "BAD_UPSTREAM_ANSWER, YES, FAILED",
        "DEADLINE_EXCEEDED, MAYBE, FAILED",
        "INVALID_ARGUMENT, YES, ANSWERED",
        "NOT_FOUND, YES, ANSWERED",
        "RESOURCE_EXHAUSTED, YES, ANSWERED"
    })
    void outcome_tellsErrorsFromMissingResponses(ErrorCode code, Processed processed, CallOutcome outcome) {
        try (var bench = FleetBench.of(FleetBench.retryingOn())) {
            bench.infer();
            only(bench).fail(code, processed);
            for (CallOutcome each : CallOutcome.values()) {
                assertThat(bench.tries(each)).as(each.name()).isEqualTo(each == outcome ? 1 : 0);
            }
        }
    }

    @Test
    void secondFailure_isTheClients_whereOneFurtherTryIsConfigured() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.NO);
            bench.onlyNew(List.of(first)).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure().processed()).isEqualTo(Processed.NO);
            assertThat(bench.requests()).hasSize(2);
        }
    }

    @ParameterizedTest
    @EnumSource(RetryOn.class)
    void failure_isRepeatedOnlyWhereItsKindIsOn(RetryOn kind) {
        for (boolean on : new boolean[] {true, false}) {
            try (var bench = FleetBench.of(on ? FleetBench.retryingOn(kind) : FleetBench.retryingOn())) {
                ClientReply seen = bench.infer();
                switch (kind) {
                    case UNSENT -> only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
                    case UNAVAILABLE -> only(bench).fail(ErrorCode.UNAVAILABLE, Processed.YES);
                    case LOST -> only(bench).fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
                    case TIMEOUT -> only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
                }
                assertThat(bench.requests()).hasSize(on ? 2 : 1);
                assertThat(seen.ended()).isEqualTo(!on);
                seen.cancellation.cancel();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ErrorCode.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"UNAVAILABLE", "DEADLINE_EXCEEDED"})
    void responseOfTheServer_isNeverRepeated(ErrorCode code) {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            ClientReply seen = bench.infer();
            only(bench).fail(code, Processed.YES);
            assertThat(seen.failure().code()).isEqualTo(code);
            assertThat(bench.requests()).hasSize(1);
        }
    }

    @Test
    void fullQueueOfTriton_isRepeatedWhateverItsCode() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            only(bench).reply.fail(OipException.invalid("[request id: 1] Exceeds maximum queue size"));
            assertThat(bench.requests()).hasSize(2);
            seen.cancellation.cancel();
        }
    }

    @Test
    void errorAsFirstMessageOfAStream_isRepeatedLikeAStatus() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.events(bench.call());
            FakeUpstream.ReceivedRequest first = only(bench);
            first.reply.message(new ReplyMessage.StreamError(new OipException(ErrorCode.UNAVAILABLE, "full"), ""));
            assertThat(first.cancelled).isTrue();
            bench.onlyNew(List.of(first)).respond();
            assertThat(seen.complete).isTrue();
        }
    }

    @Test
    void failureAfterAResponse_isNotRepeated() {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            ClientReply seen = bench.events(bench.call());
            only(bench).message();
            assertThat(bench.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
        }
    }

    @Test
    void largeRequest_isNeitherKeptNorRepeated() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(1, Set.of(RetryOn.UNSENT), 0.2, 100)))) {
            ClientReply seen = bench.infer(bench.call(), 101);
            assertThat(bench.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
        }
    }

    @Test
    void noBudget_failsWithTheFirstFailure() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(1, Set.of(RetryOn.UNSENT), 0, 100)))) {
            ClientReply seen = bench.infer();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.meters
                            .get("isthmus.upstream.retry.budget.exhausted")
                            .counter()
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void requestsThatWereNeverSent_goToTheOtherServer_whateverTheBudget() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(1, Set.of(RetryOn.UNSENT), 0.001, 100)))) {
            List<FakeUpstream.ReceivedRequest> before = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                ClientReply seen = bench.infer();
                FakeUpstream.ReceivedRequest first = bench.onlyNew(before);
                first.fail(ErrorCode.UNAVAILABLE, Processed.NO);
                before.add(first);
                FakeUpstream.ReceivedRequest second = bench.onlyNew(before);
                second.respond();
                before.add(second);
                assertThat(seen.complete).isTrue();
            }
        }
    }

    @Test
    void onlyServer_isTriedAgainAfterAPause() {
        try (var bench = FleetBench.ofOne(FleetBench.config())) {
            ClientReply seen = bench.infer();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            bench.advance(12);
            assertThat(bench.requests()).hasSize(1);
            bench.advance(26);
            assertThat(bench.requests()).hasSize(2);
            bench.one.last().respond();
            assertThat(seen.complete).isTrue();
        }
    }

    @Test
    void pauseBeyondTheDeadline_isNotMade() {
        try (var bench = FleetBench.ofOne(FleetBench.config())) {
            ClientReply seen = bench.infer(bench.callWithin(12), 10);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
        }
    }

    @Test
    void cancelOfATry_reachesTheServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            seen.cancellation.cancel();
            seen.cancellation.cancel();
            assertThat(only(bench).cancelled).isTrue();
            assertThat(bench.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.ended()).isFalse();
            assertThat(bench.requests()).hasSize(1);
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
            assertThat(bench.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void cancelInAPause_sendsNothingMore() {
        try (var bench = FleetBench.ofOne(FleetBench.config())) {
            ClientReply seen = bench.infer();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            seen.cancellation.cancel();
            bench.advance(1000);
            assertThat(bench.requests()).hasSize(1);
            assertThat(seen.ended()).isFalse();
        }
    }

    @Test
    void cancelOfTheSecondTry_reachesItsServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.NO);
            seen.cancellation.cancel();
            assertThat(first.cancelled).isFalse();
            assertThat(bench.onlyNew(List.of(first)).cancelled).isTrue();
        }
    }

    @Test
    void headersOfAFailedTry_areNotShown() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            FakeUpstream.ReceivedRequest first = only(bench);
            first.reply.headers(Map.of("retry-after", "3"));
            first.fail(ErrorCode.UNAVAILABLE, Processed.YES);
            FakeUpstream.ReceivedRequest second = bench.onlyNew(List.of(first));
            second.reply.headers(Map.of("x-second", "1"));
            second.respond();
            assertThat(seen.headers).containsOnly(Map.entry("x-second", "1"));
        }
    }

    @Test
    void headersOfTheLastFailure_areShown() {
        try (var bench = FleetBench.of(FleetBench.retryingOn())) {
            ClientReply seen = bench.infer();
            only(bench).reply.headers(Map.of("retry-after", "3"));
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.YES);
            assertThat(seen.headers).containsOnly(Map.entry("retry-after", "3"));
        }
    }

    @Test
    void probe_isRepeatedOnLossWithoutOptIn() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = new ClientReply();
            bench.cluster().send(bench.call(), new UpstreamRequest.ModelReadyRequest(FleetBench.MODEL), seen);
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.MAYBE);
            bench.onlyNew(List.of(first)).reply.only(new ReplyMessage.ModelReadyState(FleetBench.MODEL, true));
            assertThat(seen.messages).containsExactly(new ReplyMessage.ModelReadyState(FleetBench.MODEL, true));
        }
    }

    @ParameterizedTest
    @EnumSource(Extension.class)
    void management_isRepeatedOnlyWhereItChangesNothing(Extension extension) {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            ClientReply seen = new ClientReply();
            var manage = new Operation.Manage(extension, FleetBench.MODEL, "", true, false, false);
            seen.cancellation =
                    bench.cluster().send(bench.call(), new UpstreamRequest.ManageRequest(manage, bench.body()), seen);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            boolean repeated = Set.of(Extension.REPOSITORY_INDEX, Extension.MODEL_CONFIG, Extension.MODEL_STATISTICS)
                    .contains(extension);
            assertThat(bench.requests()).hasSize(repeated ? 2 : 1);
            seen.cancellation.cancel();
        }
    }

    @Test
    void generation_isNotRepeated() {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            ClientReply seen = new ClientReply();
            var generate = new Operation.Generate(FleetBench.MODEL, false);
            bench.cluster().send(bench.call(), new UpstreamRequest.GenerateRequest(generate, bench.body()), seen);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.NO);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
        }
    }

    @Test
    void tryTimeout_isTheDeadlineOfEachTry() {
        var config =
                TestConfigs.with(FleetBench.retryingOn(RetryOn.TIMEOUT), Map.of("tryTimeout", Duration.ofSeconds(2)));
        try (var bench = FleetBench.of(config)) {
            ClientReply seen = bench.infer(bench.callWithin(3000), 10);
            FakeUpstream.ReceivedRequest first = only(bench);
            assertThat(first.call.deadlineNanos())
                    .isEqualTo(bench.callWithin(2000).deadlineNanos());
            bench.advance(2000);
            first.fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            FakeUpstream.ReceivedRequest second = bench.onlyNew(List.of(first));
            assertThat(second.call.deadlineNanos())
                    .isEqualTo(bench.callWithin(1000).deadlineNanos());
            bench.advance(1000);
            second.fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(seen.failure()).hasMessage("upstream 'triton' did not respond within 3 s");
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
        }
    }

    @Test
    void tryTimeoutOfAStreamedResponse_endsWithTheFirstResponse() {
        var config =
                TestConfigs.with(FleetBench.retryingOn(RetryOn.TIMEOUT), Map.of("tryTimeout", Duration.ofSeconds(2)));
        try (var bench = FleetBench.of(config)) {
            ClientReply seen = bench.events(bench.call());
            FakeUpstream.ReceivedRequest first = only(bench);
            assertThat(first.call.hasDeadline()).isFalse();
            bench.advance(2000);
            assertThat(first.cancelled).isTrue();
            FakeUpstream.ReceivedRequest second = bench.onlyNew(List.of(first));
            second.message();
            bench.advance(100_000);
            second.reply.complete();
            assertThat(seen.complete).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Processed.class,
            names = {"NO", "MAYBE", "YES"})
    void failureAfterTheClientsDeadline_isReportedAsItsDeadline(Processed processed) {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer(bench.callWithin(5), 10);
            bench.advance(5);
            only(bench).fail(ErrorCode.UNAVAILABLE, processed);
            assertThat(seen.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(seen.failure()).hasMessage("upstream 'triton' did not respond within 5 ms");
            CallOutcome outcome = processed == Processed.YES ? CallOutcome.UNAVAILABLE : CallOutcome.FAILED;
            assertThat(bench.tries(outcome)).isEqualTo(1);
        }
    }

    @Test
    void failureAfterTheConfiguredTimeout_isReportedAsItIs() {
        try (var bench = FleetBench.of(FleetBench.retryingOn())) {
            ClientReply seen = bench.infer();
            bench.advance(3_600_000);
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            assertThat(seen.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }

    @Test
    void generation_thatIsHandedBackUnread_isSentToAnother() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = new ClientReply();
            bench.cluster()
                    .send(
                            bench.call(),
                            new UpstreamRequest.GenerateRequest(
                                    new Operation.Generate(FleetBench.MODEL, false), bench.body()),
                            seen);
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.REFUSED);
            bench.onlyNew(List.of(first)).respond();
            assertThat(seen.complete).isTrue();
            assertThat(bench.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void requestOfASequence_thatIsHandedBackUnread_staysAtItsServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer(bench.call().withAffinity(7, Call.EARLIER), 10);
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.REFUSED);
            FakeUpstream.ReceivedRequest second = bench.onlyNew(List.of(first));
            assertThat(bench.one.requests.contains(first)).isEqualTo(bench.one.requests.contains(second));
            second.respond();
            assertThat(seen.complete).isTrue();
        }
    }

    @Test
    void handedBackUnread_isSentAgainBeyondTheRetries_withoutBudget() {
        try (var bench = FleetBench.of(FleetBench.retrying(new Retry(1, Set.of(RetryOn.UNSENT), 0, 100)))) {
            ClientReply seen = bench.infer();
            for (int i = 0; i < 4; i++) {
                bench.requests().forEach(received -> {
                    if (!received.cancelled) {
                        received.cancelled = true;
                        received.fail(ErrorCode.UNAVAILABLE, Processed.REFUSED);
                    }
                });
            }
            assertThat(bench.requests()).hasSizeGreaterThanOrEqualTo(5);
            assertThat(seen.ended()).isFalse();
            seen.cancellation.cancel();
            assertThat(bench.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void requestThatIsLostTwice_isNotSentToAThird() {
        var retry = new Retry(3, Set.of(RetryOn.LOST), 0.2, 100);
        try (var bench = FleetBench.of(FleetBench.retrying(retry))) {
            ClientReply seen = bench.infer();
            FakeUpstream.ReceivedRequest first = failFirst(bench, ErrorCode.UNAVAILABLE, Processed.MAYBE);
            bench.onlyNew(List.of(first)).fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            assertThat(seen.failure().processed()).isEqualTo(Processed.MAYBE);
            assertThat(bench.requests()).hasSize(2);
        }
    }

    @Test
    void clientsOwnShortDeadline_isNoFailureOfTheServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            bench.infer(bench.callWithin(5), 10);
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
        }
    }
}

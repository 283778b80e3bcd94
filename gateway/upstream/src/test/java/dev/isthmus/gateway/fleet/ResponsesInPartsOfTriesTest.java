package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.transcoder.message.Wire;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Attempts whose response is forwarded in parts: the first part counts as the response. */
class ResponsesInPartsOfTriesTest {

    private static FakeUpstream.ReceivedRequest only(FleetBench bench) {
        return bench.onlyNew(List.of());
    }

    @Test
    void failureAfterAPartOfAResponse_isNotRepeated() {
        try (var bench = FleetBench.of(FleetBench.retryingOn(RetryOn.values()))) {
            ClientReply seen = bench.infer();
            only(bench).part();
            assertThat(bench.held()).isZero();
            only(bench).fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            assertThat(seen.failure).isNotNull();
            assertThat(bench.requests()).hasSize(1);
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void timeoutOfAResponse_thatTheClientIsSlowToTake_isNoFailureOfTheServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            ClientReply seen = bench.infer();
            only(bench).part();
            seen.writable = false;
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(seen.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(bench.tries(CallOutcome.CANCELLED)).isEqualTo(1);
        }
    }

    @Test
    void timeoutOfAResponse_thatTheClientWouldTake_isAFailureOfTheServer() {
        try (var bench = FleetBench.of(FleetBench.config())) {
            bench.infer();
            only(bench).part();
            only(bench).fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
            assertThat(bench.tries(CallOutcome.FAILED)).isEqualTo(1);
        }
    }

    @Test
    void responseOfATry_isWantedWholeWhereItHasLessTimeThanTheCall() {
        var hurried = TestConfigs.with(FleetBench.config(), Map.of("tryTimeout", Duration.ofSeconds(2)));
        try (var bench = FleetBench.of(FleetBench.config());
                var fast = FleetBench.of(hurried)) {
            bench.infer();
            fast.infer();
            assertThat(only(bench).reply.acceptsParts(Wire.PROTOBUF, 100)).isTrue();
            assertThat(only(fast).reply.acceptsParts(Wire.PROTOBUF, 100)).isFalse();
            only(bench).respond();
            only(fast).respond();
        }
    }
}

package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which server gets a call, and what is refused, with limits of single servers. */
class AdaptiveConcurrencyTest {

    private static UpstreamConfig atMost(int calls) {
        AdaptiveConcurrency adaptive = new AdaptiveConcurrency(1, calls, 0.25, Duration.ofSeconds(30));
        return TestConfigs.with(FleetBench.config(), Map.of("adaptiveConcurrency", adaptive));
    }

    private static double refused(FleetBench bench) {
        return bench.count("isthmus.upstream.rejected", "cause", "adaptive_limit");
    }

    @Test
    void aServerAtItsLimit_isNotChosen() {
        try (FleetBench bench = FleetBench.of(atMost(2))) {
            List<ClientReply> replies = new ArrayList<>();
            replies.add(bench.infer());
            replies.add(bench.infer());
            bench.two.requests.getFirst().respond();
            replies.add(bench.infer());

            // In turn it would be the second server, and the first one after that.
            replies.add(bench.infer());
            replies.add(bench.infer());

            assertThat(bench.one.requests).hasSize(2);
            assertThat(bench.two.requests).hasSize(3);
            assertThat(refused(bench)).isZero();
            replies.forEach(reply -> reply.cancellation.cancel());
        }
    }

    @Test
    void ifAllServersAreAtTheirLimits_callsAreRefusedUntilOneEnds() {
        try (FleetBench bench = FleetBench.of(atMost(1))) {
            ClientReply first = bench.infer();
            ClientReply second = bench.infer();

            ClientReply third = bench.infer();

            assertThat(third.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(third.failure().message()).contains("adaptive_concurrency");
            assertThat(third.failure().retryAfter()).isPresent();
            assertThat(refused(bench)).isOne();

            bench.one.requests.getFirst().respond();
            ClientReply fourth = bench.infer();

            assertThat(bench.one.requests).hasSize(2);
            assertThat(first.complete).isTrue();
            second.cancellation.cancel();
            fourth.cancellation.cancel();
        }
    }

    @Test
    void requestsThatAreNoInference_areNotLimited() {
        try (FleetBench bench = FleetBench.ofOne(atMost(1))) {
            ClientReply inference = bench.infer();
            ClientReply metadata = new ClientReply();

            bench.cluster().send(bench.call(), new UpstreamRequest.ServerMetadataRequest(), metadata);

            assertThat(bench.one.requests).hasSize(2);
            bench.one.requests.getLast().respond();
            assertThat(metadata.complete).isTrue();
            inference.cancellation.cancel();
        }
    }

    @Test
    void aRetry_goesOnlyWhereThereIsRoom() {
        try (FleetBench bench = FleetBench.of(atMost(1))) {
            ClientReply first = bench.infer();
            ClientReply second = bench.infer();
            FakeUpstream.ReceivedRequest failing = bench.one.requests.getFirst();

            failing.fail(ErrorCode.UNAVAILABLE, Processed.YES);

            // The same server has room again; the other one has none.
            assertThat(bench.two.requests).hasSize(1);
            first.cancellation.cancel();
            second.cancellation.cancel();
        }
    }

    @Test
    void everyPlaceIsGivenBack_howeverACallEnds() {
        try (FleetBench bench = FleetBench.ofOne(atMost(1))) {
            for (int i = 0; i < 3; i++) {
                bench.infer().cancellation.cancel();
                ClientReply answered = bench.infer();
                bench.one.requests.getLast().respond();
                assertThat(answered.complete).isTrue();
                ClientReply failed = bench.infer();
                bench.one.last().fail(ErrorCode.INTERNAL, Processed.YES);
                assertThat(failed.failure().code()).isEqualTo(ErrorCode.INTERNAL);
            }
            assertThat(refused(bench)).isZero();
        }
    }

    @Test
    void theLimit_isAMetricOfTheServer() {
        try (FleetBench bench = FleetBench.ofOne(atMost(3))) {
            assertThat(bench.gauge("isthmus.endpoint.concurrency.limit")).isEqualTo(3);
        }
    }
}

package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random schedules of calls, answers, failures, cancellations and time. */
class CallQueueScheduleTest {
    private static final int MAX_WAITING = 12;
    private static final int MAX_WAITING_PER_CALLER = 7;
    private static final QueueConfig QUEUE = new QueueConfig(
            MAX_WAITING,
            MAX_WAITING_PER_CALLER,
            Duration.ofMillis(400),
            0.2,
            Map.of("c0", 3),
            Map.of("slow", 2),
            Map.of("m0", 2),
            3);

    /** One run. */
    private static final class Schedule {
        private final Random random;
        private final FleetBench bench;
        private final int limit;
        private final ErrorCode failure;
        private final LongSupplier used;
        private final List<ClientReply> replies = new ArrayList<>();
        private final List<UpstreamStream> streams = new ArrayList<>();

        /**
         * @param limit of concurrent calls
         * @param failure of servers
         * @param used how much of the limit is used
         */
        Schedule(long seed, FleetBench bench, int limit, ErrorCode failure, LongSupplier used) {
            this.random = new Random(seed);
            this.bench = bench;
            this.limit = limit;
            this.failure = failure;
            this.used = used;
        }

        void run() {
            for (int i = 0; i < 3_000; i++) {
                step();
                if (random.nextInt(3) == 0) {
                    bench.run();
                    nothingIsLost();
                }
                bounded();
            }
            end();
        }

        private void step() {
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3, 4 -> replies.add(bench.infer(call(), ModelRef.of("m" + random.nextInt(3)), 10));
                case 5, 6, 7 -> ended(ReceivedRequest::respond);
                case 8 -> ended(received -> received.fail(failure, Processed.YES));
                case 9 -> bench.advance(random.nextInt(60));
                case 10 -> {
                    List<ClientReply> open =
                            replies.stream().filter(reply -> !reply.ended()).toList();
                    if (!open.isEmpty()) {
                        ClientReply left = open.get(random.nextInt(open.size()));
                        left.cancellation.cancel();
                        replies.remove(left);
                    }
                }
                default -> stream();
            }
        }

        private Call call() {
            Call call = bench.callOf("c" + random.nextInt(4), random.nextBoolean() ? "slow" : "fast");
            call.context().prioritized(random.nextInt(5));
            return random.nextInt(4) == 0
                    ? call.withDeadline(
                            bench.now() + Duration.ofMillis(random.nextInt(200)).toNanos())
                    : call;
        }

        private void stream() {
            if (!streams.isEmpty() && random.nextBoolean()) {
                streams.removeLast().cancel();
            } else {
                streams.add(bench.cluster().inferStream(bench.callOf("s"), FleetBench.MODEL, new ClientReply()));
            }
        }

        private List<ReceivedRequest> open() {
            return CallQueueScheduleTest.open(bench);
        }

        private void ended(Consumer<ReceivedRequest> how) {
            List<ReceivedRequest> open = open();
            if (!open.isEmpty()) {
                ReceivedRequest received = open.get(random.nextInt(open.size()));
                received.ended = true;
                how.accept(received);
            }
        }

        private void bounded() {
            assertThat(used.getAsLong()).isLessThanOrEqualTo(limit);
            assertThat(bench.gauge("isthmus.upstream.queue.waiting")).isLessThanOrEqualTo(MAX_WAITING);
        }

        /** Checks that no place stays free while calls wait, but for the reserved ones. */
        private void nothingIsLost() {
            if (bench.gauge("isthmus.upstream.queue.waiting") > 0) {
                assertThat(used.getAsLong()).isGreaterThanOrEqualTo(limit - (int) (0.2 * limit));
            }
        }

        private void end() {
            streams.forEach(UpstreamStream::cancel);
            bench.run();
            for (List<ReceivedRequest> open = open(); !open.isEmpty(); open = open()) {
                open.forEach(received -> {
                    received.ended = true;
                    received.respond();
                });
                bench.run();
                // Retries of those that failed.
                bench.advance(1);
            }
            bench.advance(1_000);
            assertThat(bench.gauge("isthmus.upstream.queue.waiting")).isZero();
            assertThat(replies).allSatisfy(reply -> assertThat(reply.ended()).isTrue());
        }
    }

    /** The requests that servers have received and not responded to. */
    private static List<ReceivedRequest> open(FleetBench bench) {
        return bench.requests().stream()
                .filter(received -> received.model != null && !received.cancelled && !received.ended)
                .toList();
    }

    private static FleetBench bench(Map<String, Object> changes) {
        Map<String, Object> all = new HashMap<>(Map.of("queue", QUEUE));
        all.putAll(changes);
        UpstreamConfig config = TestConfigs.with(FleetBench.config(), all);
        return FleetBench.of(config);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void atMaxRequests_noPlaceIsLostOrTakenTwice(long seed) {
        int limit = 1 + (int) seed;
        try (FleetBench bench = bench(Map.of("maxRequests", limit))) {
            new Schedule(seed, bench, limit, ErrorCode.UNAVAILABLE, () ->
                            (long) bench.gauge("isthmus.upstream.under.way"))
                    .run();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void atAdaptiveLimits_noWakeUpIsLost(long seed) {
        int each = (int) seed;
        try (FleetBench bench = bench(
                Map.of("adaptiveConcurrency", new AdaptiveConcurrency(each, each, 0.25, Duration.ofMinutes(1))))) {
            // A call that is to be retried leaves room for others only when it has ended.
            new Schedule(
                            seed,
                            bench,
                            2 * each,
                            ErrorCode.INTERNAL,
                            () -> open(bench).size())
                    .run();
        }
    }
}

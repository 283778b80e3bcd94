package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A quiet caller beside one with a hundred times its load, four times what the server can do; in virtual time. The
 * server takes 90 to 110 ms for each call, and has 50 at once.
 */
class CallQueueLoadTest {
    private static final int MILLIS = 20_000;
    /** One call of the quiet caller, on the average. */
    private static final int QUIET_EVERY = 50;

    private static final int LOUD_EACH = 2;
    private static final int LIMIT = 50;

    /** A request at the server, and when it is done. */
    private record Work(ReceivedRequest request, long end) {}

    /** One run. */
    private static final class Load {
        private final Random random;
        private final FleetBench bench;
        private final Map<CallContext, Long> quiet = new HashMap<>();
        private final List<Long> latencies = new ArrayList<>();
        private final PriorityQueue<Work> working = new PriorityQueue<>(Comparator.comparingLong(Work::end));
        private int sent;
        private long now;

        Load(long seed, FleetBench bench) {
            this.random = new Random(seed);
            this.bench = bench;
            bench.one.beforeReturn = received -> working.add(new Work(received, now + 90 + random.nextInt(21)));
        }

        /** The 99th percentile of the quiet caller, in milliseconds; all of its calls are answered. */
        long run(boolean loud) {
            for (now = 0; now < MILLIS; now++) {
                for (int i = 0; loud && i < LOUD_EACH; i++) {
                    bench.infer(bench.callOf("loud"), 1);
                }
                if (random.nextInt(QUIET_EVERY) == 0) {
                    Call call = bench.callOf("quiet");
                    quiet.put(call.context(), now);
                    sent++;
                    bench.infer(call, 1);
                }
                bench.run();
                answer();
                bench.advance(1);
            }
            for (; !working.isEmpty(); now++) {
                answer();
                bench.advance(1);
            }
            assertThat(latencies).hasSize(sent);
            Collections.sort(latencies);
            return latencies.get(latencies.size() * 99 / 100);
        }

        private void answer() {
            for (Work next = working.peek(); next != null && next.end() <= now; next = working.peek()) {
                working.remove();
                ReceivedRequest request = next.request();
                Long began = quiet.remove(request.call.context());
                if (began != null) {
                    latencies.add(now - began);
                }
                request.respond();
                bench.run();
            }
        }
    }

    private static long percentile(long seed, boolean loud, @Nullable QueueConfig queue) {
        Map<String, Object> changes = new HashMap<>();
        changes.put("maxRequests", LIMIT);
        changes.put("queue", queue);
        try (FleetBench bench = FleetBench.ofOne(TestConfigs.with(FleetBench.config(), changes))) {
            return new Load(seed, bench).run(loud);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void aLoudCaller_raisesTheOthers99thPercentile_byNoMoreThanATenth(long seed) {
        long alone = percentile(seed, false, null);
        long beside = percentile(seed, true, DefaultValues.of(QueueConfig.class));
        assertThat(beside).isLessThanOrEqualTo(alone + alone / 10);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void withNothingReserved_theOtherWaitsForTheNextPlaceOnly(long seed) {
        long alone = percentile(seed, false, null);
        long beside =
                percentile(seed, true, TestConfigs.with(DefaultValues.of(QueueConfig.class), Map.of("reserved", 0.0)));
        assertThat(beside).isLessThanOrEqualTo(2 * alone);
    }
}

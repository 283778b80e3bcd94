package dev.isthmus.gateway.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.queue.FairQueue.WaitEstimate;
import org.junit.jupiter.api.Test;

class WaitEstimateTest {
    private final WaitEstimate estimate = new WaitEstimate();

    private long taken(int calls, long every, long from) {
        long now = from;
        for (int i = 0; i < calls; i++) {
            now += every;
            estimate.taken(now);
        }
        return now;
    }

    @Test
    void isTheTimeBetweenCalls_timesThoseAhead() {
        estimate.began(1_000);
        taken(8, 10, 1_000);

        assertThat(estimate.nanos(0)).isEqualTo(10);
        assertThat(estimate.nanos(4)).isEqualTo(50);
    }

    @Test
    void isUnknownAtFirst() {
        estimate.began(1_000);
        taken(7, 10, 1_000);

        assertThat(estimate.nanos(100)).isZero();
    }

    @Test
    void timeWithoutAnyCallWaiting_doesNotCount() {
        estimate.began(1_000);
        taken(8, 10, 1_000);
        estimate.began(1_000_000);
        estimate.taken(1_000_010);

        assertThat(estimate.nanos(0)).isEqualTo(10);
    }

    @Test
    void follows() {
        estimate.began(0);
        long now = taken(20, 1_000, 0);
        taken(40, 10, now);

        assertThat(estimate.nanos(0)).isBetween(10L, 20L);
    }
}

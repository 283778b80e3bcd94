package dev.isthmus.gateway.warm;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class TimeLimitTest {

    @Test
    void neither_isNotReached() {
        TimeLimit limit = new TimeLimit(Duration.ofHours(1), Duration.ofHours(1));
        assertThat(limit.reached()).isFalse();
        assertThat(limit.remainingNanos()).isBetween(1L, Duration.ofHours(1).toNanos());
    }

    @Test
    void time_isReached() {
        assertThat(new TimeLimit(Duration.ZERO, Duration.ofHours(1)).reached()).isTrue();
    }

    @Test
    void processorTime_isReached() {
        TimeLimit limit = new TimeLimit(Duration.ofHours(1), Duration.ZERO);
        assertThat(limit.reached()).isTrue();
        assertThat(limit.remainingNanos()).isLessThanOrEqualTo(0);
    }
}

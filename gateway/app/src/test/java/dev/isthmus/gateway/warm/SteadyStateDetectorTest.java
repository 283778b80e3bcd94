package dev.isthmus.gateway.warm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SteadyStateDetectorTest {
    private final SteadyStateDetector pace = new SteadyStateDetector(4, 2);

    @Test
    void rounds_becomingFaster_areNotSteady() {
        for (long nanos = 1_000_000; nanos > 100; nanos /= 2) {
            assertThat(pace.steady(nanos)).isFalse();
        }
    }

    @Test
    void rounds_alike_areSteadyAfterTheLeast() {
        assertThat(pace.steady(100)).isFalse();
        assertThat(pace.steady(100)).isFalse();
        assertThat(pace.steady(100)).isFalse();
        assertThat(pace.steady(100)).isTrue();
    }

    @Test
    void rounds_fasterOnceMore_beginAnew() {
        pace.steady(100);
        pace.steady(100);
        pace.steady(100);
        assertThat(pace.steady(50)).isFalse();
        assertThat(pace.steady(49)).isFalse();
        assertThat(pace.steady(60)).isTrue();
    }
}

package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.metrics.CallMetrics.SeriesBudget;
import org.junit.jupiter.api.Test;

/** The limit on time series. */
class SeriesBudgetTest {
    private final SeriesBudget budget = new SeriesBudget(10);

    @Test
    void seriesUpToTheLimit_areTaken_andNoMore() {
        assertThat(budget.take(7)).isTrue();
        assertThat(budget.take(4)).isFalse();
        assertThat(budget.take(3)).isTrue();
        assertThat(budget.take(1)).isFalse();
        assertThat(budget.used()).isEqualTo(10);
    }

    @Test
    void releasedSeries_canBeTakenAgain() {
        budget.take(10);
        budget.release(6);
        assertThat(budget.take(6)).isTrue();
        assertThat(budget.take(1)).isFalse();
    }

    @Test
    void lowerLimit_countsForFurtherSeriesOnly() {
        budget.take(8);
        budget.limit(5);
        assertThat(budget.used()).isEqualTo(8);
        assertThat(budget.take(1)).isFalse();
        budget.release(4);
        assertThat(budget.take(1)).isTrue();
    }
}

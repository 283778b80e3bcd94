package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.RetryPolicy.RetryBudget;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RetryBudgetTest {
    private final AtomicLong now = new AtomicLong(Long.MIN_VALUE + 5);
    private final RetryBudget budget = new RetryBudget(0.2, now::get);

    private int drain() {
        int taken = 0;
        while (budget.take()) {
            taken++;
        }
        return taken;
    }

    @Test
    void fifthOfTheCalls_isEarned() {
        drain();
        for (int i = 0; i < 50; i++) {
            budget.earn();
        }
        assertThat(drain()).isEqualTo(10);
    }

    @Test
    void savings_areBounded() {
        for (int i = 0; i < 100_000; i++) {
            budget.earn();
        }
        assertThat(drain()).isEqualTo(100);
    }

    @Test
    void quietGateway_getsOneASecond() {
        drain();
        now.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThat(drain()).isEqualTo(1);
        now.addAndGet(Duration.ofHours(1).toNanos());
        assertThat(drain()).isEqualTo(1);
    }

    @Test
    void shareOfNothing_givesNone() {
        RetryBudget none = new RetryBudget(0, now::get);
        now.addAndGet(Duration.ofHours(1).toNanos());
        assertThat(none.take()).isFalse();
    }

    /** A thousand calls per second for ten seconds, each retried if it fails and the budget allows. */
    @Test
    void storm_sendsAtMostAFifthMore() {
        for (int failing = 1; failing <= 100; failing++) {
            RetryBudget storm = new RetryBudget(0.2, now::get);
            int sent = 0;
            for (int i = 0; i < 10_000; i++) {
                now.addAndGet(Duration.ofMillis(1).toNanos());
                boolean fails = (i * 37) % 100 < failing;
                sent += fails && storm.take() ? 2 : 1;
                if (!fails) {
                    storm.earn();
                }
            }
            assertThat(sent).isLessThanOrEqualTo(12_000);
        }
    }
}

package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class KillScenarioTest {
    private static final int ID = 5;
    private final int[] survivor = new int[10];

    @Test
    void failure_ofARequestUnderWayAtTheDeath_isNoStray() {
        assertThat(strays(90, 120)).isZero();
    }

    @Test
    void failure_beforeTheKill_isAStray() {
        assertThat(strays(90, 99)).isEqualTo(1);
    }

    @Test
    void failure_ofARequestSentLongAfter_isAStray() {
        assertThat(strays(300, 301)).isEqualTo(1);
    }

    @Test
    void failure_ofARequestThatTheOtherHostGot_isAStray() {
        survivor[ID] = 1;
        assertThat(strays(90, 120)).isEqualTo(1);
    }

    /** Killed at 100 ms and gone at 110 ms. */
    private int strays(long sentMillis, long endedMillis) {
        KillScenario.Death death = new KillScenario.Death();
        death.killedNanos = nanos(100);
        death.goneNanos = nanos(110);
        Tally.Failure failure = new Tally.Failure(ID, nanos(sentMillis), nanos(endedMillis), Outcome.RESET);
        return KillScenario.strays(List.of(failure), death, survivor);
    }

    private static long nanos(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}

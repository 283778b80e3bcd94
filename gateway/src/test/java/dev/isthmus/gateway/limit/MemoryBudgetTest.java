package dev.isthmus.gateway.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class MemoryBudgetTest {
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final MemoryBudget budget = new MemoryBudget(100, meters);

    private double used() {
        return meters.get("isthmus.memory.used").gauge().value();
    }

    private static OipException refusal(MemoryBudget.Hold hold, long bytes) {
        return catchThrowableOfType(OipException.class, () -> hold.holds(bytes));
    }

    @Test
    void bytesBeyondTheLimit_areRefused() {
        budget.hold().holds(60);
        OipException refusal = refusal(budget.hold(), 41);
        assertThat(refusal).hasMessage("all requests together may hold 100 bytes, and hold no more now");
        assertThat(refusal.code()).isEqualTo(ErrorCode.OVERLOADED);
        assertThat(refusal.retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(meters.get("isthmus.memory.refused").counter().count()).isEqualTo(1);
        assertThat(used()).isEqualTo(60);
    }

    @Test
    void bytesUpToTheLimit_fit() {
        budget.hold().holds(60);
        budget.hold().holds(40);
        assertThat(used()).isEqualTo(100);
    }

    @Test
    void hold_countsWhatIsHeldNow() {
        MemoryBudget.Hold hold = budget.hold();
        hold.holds(30);
        hold.holds(80);
        assertThat(used()).isEqualTo(80);
        hold.holds(10);
        assertThat(used()).isEqualTo(10);
    }

    @Test
    void hold_givenBackTwice_countsOnce() {
        MemoryBudget.Hold hold = budget.hold();
        budget.hold().holds(20);
        hold.holds(30);
        hold.giveBack();
        hold.giveBack();
        assertThat(used()).isEqualTo(20);
    }

    @Test
    void hold_givenBack_holdsNothingMore() {
        MemoryBudget.Hold hold = budget.hold();
        hold.giveBack();
        hold.holds(30);
        assertThat(used()).isZero();
    }

    @Test
    void lowerLimit_refusesWhatComesNext() {
        budget.hold().holds(60);
        budget.limit(50);
        assertThat(refusal(budget.hold(), 1)).isNotNull();
    }
}

package dev.isthmus.gateway.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class MemoryBudgetTest {
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final MemoryBudget budget = new MemoryBudget(100, meters);

    private double used() {
        return meters.get("isthmus.memory.used").gauge().value();
    }

    private static OipException refusal(MemoryBudget.MemoryReservation hold, long bytes) {
        return catchThrowableOfType(OipException.class, () -> hold.request(bytes));
    }

    @Test
    void bytesBeyondTheLimit_areRefused() {
        budget.reserve().request(60);
        OipException refusal = refusal(budget.reserve(), 41);
        assertThat(refusal).hasMessage("memory limit of 100 bytes for requests and responses reached");
        assertThat(refusal.code()).isEqualTo(ErrorCode.OVERLOADED);
        assertThat(refusal.retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(meters.get("isthmus.memory.refused").counter().count()).isEqualTo(1);
        assertThat(used()).isEqualTo(60);
    }

    @Test
    void requestThatNeverFits_isTooLarge() {
        budget.limit(16 << 20, Long.MAX_VALUE);
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.request(15 << 20);
        for (OipException refusal :
                new OipException[] {refusal(hold, (15 << 20) + 1), refusal(budget.reserve(), 16 << 20)}) {
            assertThat(refusal).hasMessage("request: at most 15728640 bytes fit into the gateway's memory");
            assertThat(refusal.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
            assertThat(refusal.retryAfter()).isEmpty();
        }
    }

    @Test
    void largeCalls_leaveASixteenthToSmallOnes() {
        budget.limit(16 << 20, Long.MAX_VALUE);
        budget.reserve().request(15 << 20);
        assertThat(refusal(budget.reserve(), (64 << 10) + 1).code()).isEqualTo(ErrorCode.OVERLOADED);
        for (int i = 0; i < 16; i++) {
            budget.reserve().request(64 << 10);
        }
        assertThat(used()).isEqualTo(16 << 20);
        assertThat(refusal(budget.reserve(), 1).code()).isEqualTo(ErrorCode.OVERLOADED);
    }

    @Test
    void bytesUpToTheLimit_fit() {
        budget.reserve().request(60);
        budget.reserve().request(40);
        assertThat(used()).isEqualTo(100);
    }

    @Test
    void hold_countsWhatIsHeldNow() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.request(30);
        hold.request(80);
        assertThat(used()).isEqualTo(80);
        hold.request(10);
        assertThat(used()).isEqualTo(10);
    }

    @Test
    void bytesThatWereWritten_areCounted_andNotRefused() {
        budget.reserve().request(100);
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.queued(30);
        hold.queued(20);
        assertThat(used()).isEqualTo(120);
        hold.release();
        hold.queued(30);
        assertThat(used()).isEqualTo(100);
        assertThat(meters.get("isthmus.memory.refused").counter().count()).isZero();
    }

    @Test
    void hold_givenBackTwice_countsOnce() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        budget.reserve().request(20);
        hold.request(30);
        hold.release();
        hold.release();
        assertThat(used()).isEqualTo(20);
    }

    @Test
    void hold_givenBack_holdsNothingMore() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.release();
        hold.request(30);
        assertThat(used()).isZero();
    }

    @Test
    void hold_isTheSumOfWhatComesWhatIsUnderWayAndWhatGoes() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.gathered(10);
        hold.request(20);
        hold.response(30);
        assertThat(used()).isEqualTo(60);
        hold.response(5);
        assertThat(used()).isEqualTo(35);
        hold.release();
        assertThat(used()).isZero();
    }

    @Test
    void whatWasGathered_isDispatchedWithoutBeingCountedTwice() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.gathered(90);
        hold.dispatched();
        hold.request(90);
        assertThat(used()).isEqualTo(90);
        hold.gathered(10);
        assertThat(used()).isEqualTo(100);
    }

    @Test
    void responseThatIsWritten_countsWhatItIsMadeFrom_insteadOfWhatHasCome() {
        MemoryBudget.MemoryReservation hold = budget.reserve();
        hold.response(60);
        hold.source(40);
        assertThat(used()).isEqualTo(100);
        hold.written(30);
        assertThat(used()).isEqualTo(40);
        hold.source(0);
        hold.response(70);
        hold.written(80);
        assertThat(used()).isEqualTo(80);
    }

    @Test
    void callOfNoClient_isNotCounted() {
        MemoryBudget.MemoryReservation.UNCOUNTED.request(1000);
        MemoryBudget.MemoryReservation.UNCOUNTED.release();
        assertThat(used()).isZero();
    }

    private MemoryBudget crowded(AtomicLong pinned) {
        MemoryBudget shared = new MemoryBudget(0, pinned::get, new SimpleMeterRegistry());
        shared.limit(1 << 24, 1 << 20);
        return shared;
    }

    @Test
    void buffersThatTakeTooMuch_refuseWhatComes_untilTheyAreGone() {
        AtomicLong pinned = new AtomicLong((1 << 20) + 1);
        MemoryBudget shared = crowded(pinned);
        await().untilAsserted(() -> assertThat(refusal(shared.reserve(), 1 << 16))
                .hasMessage("memory limit of 1048576 bytes for buffers reached"));
        pinned.set(1 << 20);
        await().ignoreException(OipException.class).until(() -> {
            shared.reserve().request(1 << 16);
            return true;
        });
    }

    @Test
    void buffersThatTakeTooMuch_leaveRoomForHealth() {
        MemoryBudget shared = crowded(new AtomicLong(1 << 30));
        await().until(() -> refusal(shared.reserve(), 1 << 16) != null);
        MemoryBudget.MemoryReservation health = shared.reserve();
        health.gathered(5);
        health.dispatched();
        health.response(200);
        assertThat(refusal(shared.reserve(), 1024)).isNotNull();
    }

    @Test
    void lowerLimit_refusesWhatComesNext() {
        budget.reserve().request(60);
        budget.limit(50, Long.MAX_VALUE);
        assertThat(refusal(budget.reserve(), 1)).isNotNull();
    }
}

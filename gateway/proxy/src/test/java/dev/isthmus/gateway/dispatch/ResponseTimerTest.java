package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ResponseTimerTest {
    private long now = 1_000_000_007;
    private final ResponseTimer time = new ResponseTimer(() -> now);

    @Test
    void time_isThatOfTheFirstAnswer() {
        time.sending();
        now += 30;
        time.answered();
        now += 1000;
        time.answered();
        assertThat(time.known()).isTrue();
        assertThat(time.nanos()).isEqualTo(30);
    }

    @Test
    void request_thatNeverWentOut_hasNone() {
        time.answered();
        assertThat(time.known()).isFalse();
    }

    @Test
    void request_thatGoesOutAgain_isTimedFromThere() {
        time.sending();
        now += 30;
        time.answered();
        now += 50;
        time.sending();
        assertThat(time.known()).isFalse();
        now += 7;
        time.answered();
        assertThat(time.nanos()).isEqualTo(7);
    }
}

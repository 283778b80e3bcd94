package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.dispatch.ProxyStack.RampTiming.ResponseTimer;
import org.junit.jupiter.api.Test;

class ResponseTimerTest {
    private long now = 1_000_000_007;
    private final ResponseTimer time = new ResponseTimer(() -> now);

    @Test
    void time_isThatOfTheFirstResponse() {
        time.sending();
        now += 30;
        time.responded();
        now += 1000;
        time.responded();
        assertThat(time.isKnown()).isTrue();
        assertThat(time.nanos()).isEqualTo(30);
    }

    @Test
    void request_thatNeverWentOut_hasNone() {
        time.responded();
        assertThat(time.isKnown()).isFalse();
    }

    @Test
    void request_thatGoesOutAgain_isTimedFromThere() {
        time.sending();
        now += 30;
        time.responded();
        now += 50;
        time.sending();
        assertThat(time.isKnown()).isFalse();
        now += 7;
        time.responded();
        assertThat(time.nanos()).isEqualTo(7);
    }
}

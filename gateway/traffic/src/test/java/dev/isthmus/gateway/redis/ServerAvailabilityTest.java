package dev.isthmus.gateway.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ServerAvailabilityTest {
    private static final long MILLISECOND = Duration.ofMillis(1).toNanos();

    private final AtomicLong now = new AtomicLong(1);
    private final ServerAvailability server = new ServerAvailability(now::get);

    private void passes(long millis) {
        now.addAndGet(millis * MILLISECOND);
    }

    @Test
    void unknownServer_doesNotAnswer_beforeItHas() {
        assertThat(server.answers()).isFalse();
        assertThat(server.inTime()).isTrue();
        assertThat(server.answers()).isTrue();
        assertThat(server.inTime()).isFalse();
    }

    @Test
    void lateAnswers_amongOthersInTime_changeNothing() {
        server.inTime();
        for (int i = 0; i < 20; i++) {
            passes(900);
            assertThat(server.late()).isFalse();
            server.inTime();
        }
        assertThat(server.answers()).isTrue();
    }

    @Test
    void noAnswerInTime_forASecond_isNone() {
        server.inTime();
        passes(999);
        assertThat(server.late()).isFalse();
        passes(1);
        assertThat(server.late()).isTrue();
        assertThat(server.answers()).isFalse();
        assertThat(server.late()).isFalse();
        assertThat(server.inTime()).isTrue();
        assertThat(server.answers()).isTrue();
    }

    @Test
    void lostConnection_isNone_atOnce() {
        server.inTime();
        assertThat(server.failed()).isTrue();
        assertThat(server.answers()).isFalse();
        passes(2001);
        assertThat(server.failed()).isFalse();
        assertThat(server.silentFor(2000 * MILLISECOND)).isTrue();
        server.inTime();
        assertThat(server.silentFor(2000 * MILLISECOND)).isFalse();
    }
}

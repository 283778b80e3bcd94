package dev.isthmus.gateway.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ServerAvailabilityTest {
    private static final long MILLISECOND = Duration.ofMillis(1).toNanos();

    private final AtomicLong now = new AtomicLong(1);
    private final ServerAvailability server = new ServerAvailability(Duration.ofSeconds(5), now::get);

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
            server.inTime();
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
    }

    @Test
    void halfOfTheAnswersLate_isNone() {
        server.inTime();
        for (int i = 0; i < 4; i++) {
            passes(400);
            assertThat(server.late()).isFalse();
            server.inTime();
        }
        assertThat(server.answers()).isTrue();
        assertThat(server.late()).isTrue();
        assertThat(server.answers()).isFalse();
    }

    @Test
    void manyLateAnswers_areNotMadeGood_byThoseOfLongAgo() {
        for (int i = 0; i < 100; i++) {
            server.inTime();
        }
        passes(5_001);
        server.inTime();
        for (int i = 0; i < 4; i++) {
            assertThat(server.late()).isFalse();
        }
        assertThat(server.late()).isTrue();
    }

    @Test
    void fewLateAnswers_ofManyInTime_changeNothing() {
        for (int i = 0; i < 100; i++) {
            passes(30);
            server.inTime();
            server.inTime();
            assertThat(server.late()).isFalse();
        }
        assertThat(server.answers()).isTrue();
    }

    /** Answers in time, four a second, until the server is used. Returns after how many milliseconds, at most 70 s. */
    private long returnsAfter() {
        for (long elapsed = 0; elapsed < 70_000; elapsed += 250) {
            if (server.inTime()) {
                return elapsed;
            }
            passes(250);
        }
        return Long.MAX_VALUE;
    }

    @Test
    void lostServer_isUsedAgain_afterAWhileWithoutALateAnswer() {
        server.inTime();
        server.failed();
        for (int i = 0; i < 20; i++) {
            server.inTime();
            assertThat(server.recovering()).isTrue();
            passes(250);
            server.late();
            assertThat(server.recovering()).isFalse();
            passes(250);
        }
        assertThat(server.answers()).isFalse();
        assertThat(returnsAfter()).isEqualTo(5000);
        assertThat(server.recovering()).isFalse();
    }

    @Test
    void serverThatIsLostAgainSoon_mustAnswerTwiceAsLong_upToAMinute() {
        server.inTime();
        for (long expected : new long[] {5_000, 10_000, 20_000, 40_000, 60_000, 60_000}) {
            server.failed();
            assertThat(returnsAfter()).isEqualTo(expected);
            passes(59_000);
        }
        passes(1_000);
        server.failed();
        assertThat(returnsAfter()).isEqualTo(5_000);
    }

    @Test
    void fewAnswers_areNotEnough() {
        server.inTime();
        server.failed();
        server.inTime();
        passes(30_000);
        assertThat(server.inTime()).isFalse();
        assertThat(server.inTime()).isTrue();
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
        assertThat(server.answers()).isFalse();
    }
}

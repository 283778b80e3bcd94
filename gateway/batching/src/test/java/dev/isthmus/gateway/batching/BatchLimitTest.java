package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.Test;

class BatchLimitTest {
    private static final long MICROSECOND = 1000;
    private long now;

    /**
     * Calls of a server that handles one after the other, with this many clients.
     *
     * @param nanos the time of a call by its requests
     */
    private int after(BatchLimit limit, int clients, int seconds, IntToLongFunction nanos) {
        long end = now + seconds * 1_000_000_000L;
        Random random = new Random(1);
        while (now - end < 0) {
            int joined = Math.min(clients, limit.requests());
            long each = (long) (nanos.applyAsLong(joined) * (0.95 + random.nextDouble() * 0.1));
            long waiting = Math.max(1, clients / joined);
            now += each;
            limit.answered(joined, clients, each * waiting, now);
        }
        return limit.requests();
    }

    @Test
    void largestSize_staysWhereCallsAreTheCost() {
        BatchLimit limit = new BatchLimit(32, now);
        assertThat(limit.requests()).isEqualTo(32);
        assertThat(after(limit, 64, 60, joined -> 500 * MICROSECOND + 10 * MICROSECOND * joined))
                .isGreaterThanOrEqualTo(16);
    }

    @Test
    void nothingIsJoined_whereRowsAreTheCost() {
        BatchLimit limit = new BatchLimit(32, now);
        assertThat(after(limit, 64, 60, joined -> 100 * MICROSECOND * joined)).isLessThanOrEqualTo(2);
    }

    @Test
    void sizeStaysBelowWhereTheServerDoesNotGain() {
        BatchLimit limit = new BatchLimit(64, now);
        // Eight rows at a time.
        assertThat(after(limit, 64, 90, joined -> MICROSECOND * 400 * ((joined + 7) / 8)))
                .isBetween(4, 16);
    }

    @Test
    void sizeGrowsAgain_whenTheServerGains() {
        BatchLimit limit = new BatchLimit(32, now);
        after(limit, 64, 60, joined -> 100 * MICROSECOND * joined);
        assertThat(after(limit, 64, 60, joined -> 500 * MICROSECOND + joined)).isGreaterThanOrEqualTo(16);
    }

    @Test
    void limitThatIsNotReached_isLowered() {
        BatchLimit limit = new BatchLimit(1024, now);
        assertThat(after(limit, 6, 30, joined -> 500 * MICROSECOND + joined)).isBetween(4, 16);
    }

    @Test
    void limitThatIsNotReached_becomesTheMean_ofWhichOneSizeLessIsMeasured() {
        BatchLimit limit = new BatchLimit(1024, now);
        for (int i = 0; i < BatchLimit.WINDOW; i++) {
            limit.answered(i % 2 == 0 ? 4 : 8, 6, MICROSECOND, now + BatchLimit.HOLD_NANOS - 1);
        }
        assertThat(limit.requests()).isEqualTo(1024);
        limit.answered(6, 6, MICROSECOND, now + BatchLimit.HOLD_NANOS);
        assertThat(limit.requests()).isEqualTo(4);
    }

    @Test
    void failureOfJoinedCalls_lowersIt_untilNothingIsJoined() {
        BatchLimit limit = new BatchLimit(32, now);
        assertThat(limit.failed(9)).isFalse();
        assertThat(limit.requests()).isEqualTo(4);
        // Two may still be as many as the server takes.
        assertThat(limit.failed(3)).isFalse();
        assertThat(limit.requests()).isEqualTo(2);
        assertThat(limit.failed(2)).isTrue();
        assertThat(limit.requests()).isEqualTo(1);
    }

    @Test
    void failureOfAMoment_lowersNothing() {
        BatchLimit limit = new BatchLimit(2, now);
        for (int i = 0; i < 3; i++) {
            limit.answered(2, 2, 500 * MICROSECOND, now);
            assertThat(limit.failed(2)).isFalse();
        }
        assertThat(limit.requests()).isEqualTo(2);
        assertThat(limit.failed(2)).isTrue();
    }
}

package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RateBucketTest {
    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final long START = Long.MAX_VALUE - SECOND;

    @Test
    void fullBucket_givesItsBurst() {
        RateBucket bucket = new RateBucket(10, 2 * SECOND, START);
        for (int i = 0; i < 20; i++) {
            assertThat(bucket.take(1, START)).isZero();
        }
        assertThat(bucket.take(1, START)).isEqualTo(SECOND / 10);
    }

    @Test
    void emptyBucket_fillsWithTime() {
        RateBucket bucket = new RateBucket(10, SECOND, START);
        assertThat(bucket.take(10, START)).isZero();
        assertThat(bucket.take(3, START + SECOND / 5)).isEqualTo(SECOND / 10);
        assertThat(bucket.take(3, START + 3 * SECOND / 10)).isZero();
    }

    @Test
    void idleBucket_holdsNoMoreThanItsBurst() {
        RateBucket bucket = new RateBucket(10, SECOND, START);
        long later = START + 1000 * SECOND;
        assertThat(bucket.take(10, later)).isZero();
        assertThat(bucket.take(1, later)).isPositive();
    }

    @Test
    void moreThanTheBurst_isGivenFromAFullBucketOnly_andOwed() {
        RateBucket bucket = new RateBucket(10, SECOND, START);
        assertThat(bucket.take(50, START)).isZero();
        assertThat(bucket.take(1, START)).isEqualTo(4 * SECOND + SECOND / 10);
        assertThat(bucket.take(50, START + 4 * SECOND)).isEqualTo(SECOND);
        assertThat(bucket.take(50, START + 5 * SECOND)).isZero();
    }

    @Test
    void whatIsPutBack_canBeTakenAgain() {
        RateBucket bucket = new RateBucket(1, SECOND, START);
        assertThat(bucket.take(1, START)).isZero();
        bucket.refund(1);
        assertThat(bucket.take(1, START)).isZero();
    }
}

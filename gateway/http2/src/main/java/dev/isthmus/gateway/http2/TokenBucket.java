package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import java.util.function.LongSupplier;

/** A token bucket, initially full. Tokens are refilled over time and may be returned. For one event loop. */
final class TokenBucket {
    private static final double NANOS_PER_SECOND = 1e9;

    private final BucketLimit limit;
    private final LongSupplier nanos;
    private double tokens;
    private long refilledAt;

    TokenBucket(BucketLimit limit, LongSupplier nanos) {
        this.limit = limit;
        this.nanos = nanos;
        this.tokens = limit.burst();
        this.refilledAt = nanos.getAsLong();
    }

    /** Takes tokens; returns false if there are too few. */
    boolean take(long count) {
        if (limit.burst() == 0) {
            return true;
        }
        long now = nanos.getAsLong();
        refund((now - refilledAt) / NANOS_PER_SECOND * limit.perSecond());
        refilledAt = now;
        tokens -= count;
        return tokens >= 0;
    }

    /** Returns tokens; the bucket never holds more than the burst. */
    void refund(double count) {
        tokens = Math.min(limit.burst(), tokens + count);
    }
}

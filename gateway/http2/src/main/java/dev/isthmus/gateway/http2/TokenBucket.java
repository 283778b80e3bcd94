package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import java.util.function.LongSupplier;

/** Full at first; what is taken comes back with time, or is given back. Of one event loop. */
final class TokenBucket {
    private static final double NANOS_A_SECOND = 1e9;

    private final BucketLimit allowance;
    private final LongSupplier nanos;
    private double tokens;
    private long filled;

    TokenBucket(BucketLimit allowance, LongSupplier nanos) {
        this.allowance = allowance;
        this.nanos = nanos;
        this.tokens = allowance.burst();
        this.filled = nanos.getAsLong();
    }

    /** Takes so many: false where there are too few. */
    boolean take(long count) {
        if (allowance.burst() == 0) {
            return true;
        }
        long now = nanos.getAsLong();
        give((now - filled) / NANOS_A_SECOND * allowance.perSecond());
        filled = now;
        tokens -= count;
        return tokens >= 0;
    }

    /** Gives so many back; it never holds more than the burst. */
    void give(double count) {
        tokens = Math.min(allowance.burst(), tokens + count);
    }
}

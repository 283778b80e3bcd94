package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.net.RateBucket;
import java.util.function.LongSupplier;

/** Counts the calls of this gateway. */
record LocalCounter(RateBucket bucket, LongSupplier nanoTime) implements RateCounter {

    @Override
    public RateDecision take(long amount) {
        long wait = bucket.take(amount, nanoTime.getAsLong());
        return wait == 0 ? RateDecision.ADMITTED : new RateDecision.Exceeded(wait);
    }

    @Override
    public void refund(long amount) {
        bucket.refund(amount);
    }
}

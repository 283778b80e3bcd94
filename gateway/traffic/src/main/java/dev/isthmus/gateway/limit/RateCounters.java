package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.net.RateBucket;
import java.util.function.LongSupplier;

/** Creates the counters of rate limits. */
@FunctionalInterface
public interface RateCounters {

    /**
     * A counter; two for the same limit count together if counters are shared.
     *
     * @param limit identifies the limit, in all gateways; has no text of clients
     * @param burstNanos the time in which an empty bucket becomes full: its capacity
     */
    RateCounter counter(String limit, long perSecond, long burstNanos);

    /**
     * Counters of this gateway alone, full at first.
     *
     * @param nanoTime as {@link System#nanoTime()}
     */
    static RateCounters ofThisGateway(LongSupplier nanoTime) {
        return (limit, perSecond, burstNanos) ->
                local(new RateBucket(perSecond, burstNanos, nanoTime.getAsLong()), nanoTime);
    }

    private static RateCounter local(RateBucket bucket, LongSupplier nanoTime) {
        return new RateCounter() {
            @Override
            public RateDecision take(long amount) {
                long wait = bucket.take(amount, nanoTime.getAsLong());
                return wait == 0 ? RateDecision.ADMITTED : new RateDecision.Exceeded(wait);
            }

            @Override
            public void refund(long amount) {
                bucket.refund(amount);
            }
        };
    }
}

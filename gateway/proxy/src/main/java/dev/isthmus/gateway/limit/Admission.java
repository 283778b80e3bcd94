package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Limits the number of calls in flight in the whole gateway. Excess calls are rejected at once, so that admitted ones
 * can finish.
 */
public final class Admission implements AutoCloseable {
    private static final Duration SOON = Duration.ofSeconds(1);

    private final int limit;
    private final Bulkhead bulkhead;
    private final ReplaceableMeters meters;
    private final Counter shed;

    /** @param maxRequests maximum number of calls in flight */
    public Admission(int maxRequests, MeterRegistry meters) {
        this.limit = maxRequests;
        this.bulkhead = Bulkhead.of(
                "gateway",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(maxRequests)
                        .maxWaitDuration(Duration.ZERO)
                        .build());
        this.meters = new ReplaceableMeters(meters);
        this.shed = this.meters.add(Counter.builder("isthmus.requests.shed")
                .description("Calls refused because limits.max_requests were active")::register);
        this.meters.add(Gauge.builder("isthmus.requests.active", this, Admission::inFlight)
                .description("Calls that count against limits.max_requests")::register);
        this.meters.add(Gauge.builder("isthmus.requests.limit", this, admission -> admission.limit)
                .description("How many calls may be active (limits.max_requests)")::register);
    }

    /**
     * Admits a call.
     *
     * @throws OipException UNAVAILABLE if the limit is reached
     */
    public Permit acquire() {
        if (bulkhead.tryAcquirePermission()) {
            return new Permit(bulkhead);
        }
        throw refused();
    }

    /**
     * Checks that a call could be admitted now, without acquiring a permit: for a request that is not complete yet.
     *
     * @throws OipException UNAVAILABLE if the limit is reached
     */
    public void check() {
        if (bulkhead.getMetrics().getAvailableConcurrentCalls() <= 0) {
            throw refused();
        }
    }

    private OipException refused() {
        shed.increment();
        return OipException.refused(ErrorCode.UNAVAILABLE, "too many concurrent calls (limit " + limit + ")", SOON);
    }

    /** Number of calls in flight. */
    int inFlight() {
        return limit - bulkhead.getMetrics().getAvailableConcurrentCalls();
    }

    @Override
    public void close() {
        meters.close();
    }

    /** The permit of one call. */
    public static final class Permit {
        private final Bulkhead bulkhead;
        private final AtomicBoolean released = new AtomicBoolean();

        private Permit(Bulkhead bulkhead) {
            this.bulkhead = bulkhead;
        }

        /** Releases the permit. Idempotent. */
        public void release() {
            if (released.compareAndSet(false, true)) {
                bulkhead.releasePermission();
            }
        }
    }
}

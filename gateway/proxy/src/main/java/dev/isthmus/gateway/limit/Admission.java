package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/** How many calls may be under way in the whole gateway: more are refused at once, so that those inside go on. */
public final class Admission implements AutoCloseable {
    private static final Duration SOON = Duration.ofSeconds(1);

    private final int most;
    private final Bulkhead bulkhead;
    private final ReplaceableMeters meters;
    private final Counter shed;

    /** @param maxRequests calls under way at once */
    public Admission(int maxRequests, MeterRegistry meters) {
        this.most = maxRequests;
        this.bulkhead = Bulkhead.of(
                "gateway",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(maxRequests)
                        .maxWaitDuration(Duration.ZERO)
                        .build());
        this.meters = new ReplaceableMeters(meters);
        this.shed = this.meters.add(Counter.builder("isthmus.requests.shed")
                .description("Calls refused because too many were concurrent")::register);
    }

    /**
     * Lets a call in.
     *
     * @throws OipException UNAVAILABLE, where as many are under way as may be
     */
    public Permit enter() {
        if (bulkhead.tryAcquirePermission()) {
            return new Permit(bulkhead);
        }
        throw refused();
    }

    /**
     * That a call could be let in now: one that is not complete takes no place yet.
     *
     * @throws OipException UNAVAILABLE, where as many are under way as may be
     */
    public void check() {
        if (bulkhead.getMetrics().getAvailableConcurrentCalls() <= 0) {
            throw refused();
        }
    }

    private OipException refused() {
        shed.increment();
        return OipException.refused(ErrorCode.UNAVAILABLE, "too many concurrent calls (limit " + most + ")", SOON);
    }

    /** Calls that are inside. */
    int underWay() {
        return most - bulkhead.getMetrics().getAvailableConcurrentCalls();
    }

    @Override
    public void close() {
        meters.close();
    }

    /** The place of one call. */
    public static final class Permit {
        private final Bulkhead bulkhead;
        private final AtomicBoolean left = new AtomicBoolean();

        private Permit(Bulkhead bulkhead) {
            this.bulkhead = bulkhead;
        }

        /** The call is over. Idempotent. */
        public void giveBack() {
            if (left.compareAndSet(false, true)) {
                bulkhead.releasePermission();
            }
        }
    }
}

package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Limits the number of calls in flight: in the whole gateway, and of each authenticated caller. Excess calls are
 * rejected at once, so that admitted ones can finish. Thread-safe.
 */
public final class Admission implements AutoCloseable {
    private static final Duration SOON = Duration.ofSeconds(1);

    private final ConcurrencyLimits limits;
    private final Semaphore free;
    /** Number of calls in flight by caller; only if those are limited. */
    private final Map<String, Integer> callers = new ConcurrentHashMap<>();

    private final ReplaceableMeters meters;

    /**
     * How many calls may be in flight.
     *
     * @param total in the whole gateway
     * @param perCaller of one authenticated caller; 0 for any number
     */
    public record ConcurrencyLimits(int total, int perCaller) {

        public static ConcurrencyLimits of(GatewayConfig config) {
            AuthenticationConfig authentication = config.authentication();
            return new ConcurrencyLimits(
                    config.limits().maxRequests(), authentication == null ? 0 : authentication.maxRequests());
        }
    }

    public Admission(ConcurrencyLimits limits, MeterRegistry meters) {
        this.limits = limits;
        this.free = new Semaphore(limits.total());
        this.meters = new ReplaceableMeters(meters);
        this.meters.add(Gauge.builder("isthmus.requests.active", this, Admission::inFlight)
                .description("Calls that count against limits.max_requests")::register);
        this.meters.add(Gauge.builder("isthmus.requests.limit", this, admission -> admission.limits.total())
                .description("How many calls may be active (limits.max_requests)")::register);
    }

    public ConcurrencyLimits limits() {
        return limits;
    }

    /**
     * Admits a call until its permit is released.
     *
     * @param caller name of the authenticated caller; empty if there is none
     * @throws OipException UNAVAILABLE if the limit of the gateway is reached, RESOURCE_EXHAUSTED if that of the caller
     *     is
     */
    public Permit acquire(String caller) {
        boolean counted = limited(caller);
        if (counted && !enter(caller)) {
            throw callerRefused();
        }
        if (free.tryAcquire()) {
            return new Permit(counted ? caller : "");
        }
        if (counted) {
            leave(caller);
        }
        throw refused();
    }

    /**
     * Checks that a call could be admitted now, without acquiring a permit: for a request that is not complete yet.
     *
     * @throws OipException as {@link #acquire}
     */
    public void check(String caller) {
        if (free.availablePermits() <= 0) {
            throw refused();
        }
        if (limited(caller) && callers.getOrDefault(caller, 0) >= limits.perCaller()) {
            throw callerRefused();
        }
    }

    private boolean limited(String caller) {
        return limits.perCaller() > 0 && !caller.isEmpty();
    }

    private boolean enter(String caller) {
        // Beyond the limit by one only within this method.
        if (callers.merge(caller, 1, Integer::sum) <= limits.perCaller()) {
            return true;
        }
        leave(caller);
        return false;
    }

    private void leave(String caller) {
        callers.computeIfPresent(caller, (name, count) -> count == 1 ? null : count - 1);
    }

    private OipException refused() {
        return OipException.refused(
                        ErrorCode.UNAVAILABLE, "too many concurrent calls (limit " + limits.total() + ")", SOON)
                .because(FailureCause.GATEWAY_LIMIT);
    }

    private OipException callerRefused() {
        return OipException.refused(
                        ErrorCode.RESOURCE_EXHAUSTED,
                        "too many concurrent calls of this caller (limit " + limits.perCaller() + ")",
                        SOON)
                .because(FailureCause.CALLER_LIMIT);
    }

    int inFlight() {
        return limits.total() - free.availablePermits();
    }

    /** Number of callers that have calls in flight, if those are limited. */
    int callersInFlight() {
        return callers.size();
    }

    @Override
    public void close() {
        meters.close();
    }

    public final class Permit {
        private final String caller;
        private final AtomicBoolean released = new AtomicBoolean();

        private Permit(String caller) {
            this.caller = caller;
        }

        /** Releases the permit. Idempotent. */
        public void release() {
            if (released.compareAndSet(false, true)) {
                free.release();
                if (!caller.isEmpty()) {
                    leave(caller);
                }
            }
        }
    }
}

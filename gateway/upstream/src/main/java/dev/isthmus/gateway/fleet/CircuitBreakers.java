package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.fleet.ClusterMetrics.BreakerState;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Admits calls to a cluster: limits concurrent calls, and rejects calls while the circuit breaker is open. A call
 * counts once, however many attempts it takes. Thread-safe and non-blocking.
 */
final class CircuitBreakers {
    private static final Logger LOG = LoggerFactory.getLogger(CircuitBreakers.class);
    private static final int HALF_OPEN_CALLS = 10;

    private final String upstream;
    private final int maxRequests;
    private final UpstreamConfig.Breaker settings;
    private final boolean breaking;
    private final Clock clock;
    private final CircuitBreaker breaker;
    private final Semaphore free;
    private final ClusterMetrics metrics;
    /** When the breaker last opened, on the clock's scale. */
    private volatile long openedMillis;
    /** Runs after a place has become free. */
    private Runnable released = () -> {};

    CircuitBreakers(String upstream, UpstreamConfig config, LongSupplier nanoTime, ClusterMetrics metrics) {
        this.upstream = upstream;
        this.maxRequests = config.maxRequests();
        this.clock = monotonic(nanoTime);
        this.metrics = metrics;
        this.settings = config.breaker();
        this.breaking = settings.failureRate() < 1;
        this.breaker = CircuitBreaker.of(upstream, breakerConfig(settings, clock));
        this.free = new Semaphore(maxRequests);
        breaker.getEventPublisher()
                .onStateTransition(event -> changed(event.getStateTransition().getToState()));
        metrics.watch(this);
    }

    /** A clock that changes of the wall clock do not affect. */
    private static Clock monotonic(LongSupplier nanoTime) {
        long start = nanoTime.getAsLong();
        InstantSource source = () -> Instant.EPOCH.plusNanos(nanoTime.getAsLong() - start);
        return source.withZone(ZoneOffset.UTC);
    }

    private static CircuitBreakerConfig breakerConfig(UpstreamConfig.Breaker config, Clock clock) {
        int window = config.window();
        return CircuitBreakerConfig.custom()
                .failureRateThreshold((float) Math.max(config.failureRate() * 100, Float.MIN_VALUE))
                .slidingWindow(
                        window,
                        Math.min(config.minimumCalls(), window),
                        SlidingWindowType.COUNT_BASED,
                        SlidingWindowSynchronizationStrategy.LOCK_FREE)
                .waitDurationInOpenState(config.open())
                .permittedNumberOfCallsInHalfOpenState(HALF_OPEN_CALLS)
                .clock(clock)
                .build();
    }

    private void changed(CircuitBreaker.State state) {
        metrics.breakerChanged(known(state));
        switch (state) {
            case OPEN -> {
                openedMillis = clock.millis();
                event(LOG.atWarn())
                        .log(
                                "upstream '{}': the circuit breaker is open, calls are rejected for {}; see why they"
                                        + " fail: GET /debug/errors",
                                upstream,
                                settings.open());
            }
            case CLOSED -> event(LOG.atInfo()).log("upstream '{}': the circuit breaker is closed again", upstream);
            default -> LOG.debug("upstream '{}': the circuit breaker is {}", upstream, state);
        }
    }

    private LoggingEventBuilder event(LoggingEventBuilder event) {
        return event.addMarker(RepeatingLogEvent.MARKER).addKeyValue("upstream", upstream);
    }

    /**
     * Admits a call.
     *
     * @param endless whether the call may last as long as its client wants. Such a call holds no half-open permit: an
     *     idle one would hold it forever
     * @throws OipException if the call is rejected
     */
    CallPermit acquire(boolean endless) {
        if (!takePlace()) {
            throw metrics.rejected(
                    FailureCause.BULKHEAD,
                    "has too many concurrent calls (limit " + maxRequests + ")",
                    ClusterMetrics.RETRY_AFTER);
        }
        return admit(endless, () -> {});
    }

    /** Takes one of the places for concurrent calls if there is one; {@link #admit} or {@link #giveBack} follows. */
    boolean takePlace() {
        return free.tryAcquire();
    }

    /** Gives back a place that was taken and not used; nobody is notified. */
    void giveBack() {
        free.release();
    }

    /** Has this run whenever a call has ended. To be set before the first call. */
    void whenReleased(Runnable task) {
        released = task;
    }

    private void release(Runnable ended) {
        free.release();
        ended.run();
        released.run();
    }

    /**
     * Admits a call that has a place.
     *
     * @param endless as for {@link #acquire}
     * @param ended runs when the call has ended, or is rejected
     * @throws OipException if the call is rejected: it no longer has its place
     */
    CallPermit admit(boolean endless, Runnable ended) {
        if (breaking && !breaker.tryAcquirePermission()) {
            release(ended);
            Duration wait = untilTrial();
            throw metrics.rejected(
                    FailureCause.BREAKER,
                    "rejects calls for " + Math.max(1, wait.toSeconds()) + " s (circuit breaker open)",
                    wait);
        }
        boolean halfOpen = breaker.getState() == CircuitBreaker.State.HALF_OPEN;
        if (halfOpen && endless) {
            breaker.releasePermission();
        }
        return new CallPermit(halfOpen && !endless, ended);
    }

    /** The breaker counts failures and does not inspect them. */
    private static OipException failed() {
        return new OipException(ErrorCode.UNAVAILABLE, "failed");
    }

    private Duration untilTrial() {
        Duration left = settings.open().minusMillis(clock.millis() - openedMillis);
        return breaker.getState() == CircuitBreaker.State.OPEN && left.isPositive() ? left : ClusterMetrics.RETRY_AFTER;
    }

    /** The breaker's state as a gauge: 0 closed, 1 half-open, 2 open. */
    @SuppressWarnings("EnumOrdinal") // the numbers are promised
    int state() {
        return known(breaker.getState()).ordinal();
    }

    private static BreakerState known(CircuitBreaker.State state) {
        return switch (state) {
            case CLOSED, DISABLED, METRICS_ONLY -> BreakerState.CLOSED;
            case HALF_OPEN -> BreakerState.HALF_OPEN;
            case OPEN, FORCED_OPEN -> BreakerState.OPEN;
        };
    }

    int maxCalls() {
        return maxRequests;
    }

    int activeCalls() {
        return maxRequests - free.availablePermits();
    }

    /** The permit of an admitted call; used on its event loop. Released once. */
    final class CallPermit {
        private final boolean halfOpen;
        private final Runnable ended;
        private boolean counted;
        private boolean released;

        private CallPermit(boolean halfOpen, Runnable ended) {
            this.halfOpen = halfOpen;
            this.ended = ended;
        }

        /** The first response message has arrived, which the breaker counts as success. */
        void responded() {
            if (breaking && !counted) {
                counted = true;
                breaker.onSuccess(0, TimeUnit.NANOSECONDS);
            }
        }

        /** The call has ended: releases the permit. */
        void release(CallOutcome outcome) {
            if (released) {
                return;
            }
            released = true;
            if (breaking && !counted) {
                counted = true;
                count(outcome);
            }
            CircuitBreakers.this.release(ended);
        }

        private void count(CallOutcome outcome) {
            switch (outcome) {
                case ANSWERED, ERROR -> breaker.onSuccess(0, TimeUnit.NANOSECONDS);
                case UNAVAILABLE, FAILED -> breaker.onError(0, TimeUnit.NANOSECONDS, failed());
                case CANCELLED -> {
                    if (halfOpen) {
                        breaker.releasePermission();
                    }
                }
            }
        }
    }
}

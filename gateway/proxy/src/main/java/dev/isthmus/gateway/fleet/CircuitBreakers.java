package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets calls into a cluster: no more at once than configured, and none for a while where most of them fail. A call counts
 * once, however often it is tried. For all event loops; nothing waits.
 */
final class CircuitBreakers {
    private static final Logger LOG = LoggerFactory.getLogger(CircuitBreakers.class);
    private static final int TRIALS = 10;
    private static final Duration SOON = Duration.ofSeconds(1);

    private final String upstream;
    private final int most;
    private final UpstreamConfig.Breaker settings;
    private final Clock clock;
    private final CircuitBreaker breaker;
    private final Bulkhead bulkhead;
    private final ClusterMetrics metrics;
    /** When the breaker opened last, on the clock's scale. */
    private volatile long openedMillis;

    CircuitBreakers(String upstream, UpstreamConfig config, LongSupplier nanoTime, ClusterMetrics metrics) {
        this.upstream = upstream;
        this.most = config.maxRequests();
        this.clock = new MonotonicClock(nanoTime);
        this.metrics = metrics;
        this.settings = config.breaker();
        this.breaker = CircuitBreaker.of(upstream, breakerConfig(settings, clock));
        this.bulkhead = Bulkhead.of(
                upstream,
                BulkheadConfig.custom()
                        .maxConcurrentCalls(most)
                        .maxWaitDuration(Duration.ZERO)
                        .build());
        breaker.getEventPublisher()
                .onStateTransition(event -> changed(event.getStateTransition().getToState()));
        metrics.watch(this);
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
                .permittedNumberOfCallsInHalfOpenState(TRIALS)
                .clock(clock)
                .build();
    }

    private void changed(CircuitBreaker.State state) {
        switch (state) {
            case OPEN -> {
                openedMillis = clock.millis();
                LOG.warn(
                        "upstream '{}': the circuit breaker is open, calls are refused for {}",
                        upstream,
                        settings.open());
            }
            case CLOSED -> LOG.info("upstream '{}': the circuit breaker is closed again", upstream);
            default -> LOG.debug("upstream '{}': the circuit breaker is {}", upstream, state);
        }
    }

    /**
     * Lets a call in.
     *
     * @param endless whether it may last as long as its client wants. It holds none of the trials after the breaker was open:
     *     an idle one would hold it for ever
     * @throws OipException when it is refused
     */
    CallPermit enter(boolean endless) {
        if (!bulkhead.tryAcquirePermission()) {
            metrics.rejected(ClusterMetrics.Rejection.BULKHEAD);
            throw refused("has too many concurrent calls (limit " + most + ")", SOON);
        }
        if (breaking() && !breaker.tryAcquirePermission()) {
            bulkhead.releasePermission();
            metrics.rejected(ClusterMetrics.Rejection.BREAKER);
            Duration wait = untilTrial();
            throw refused("refuses calls for " + Math.max(1, wait.toSeconds()) + " s (circuit breaker open)", wait);
        }
        boolean trial = breaker.getState() == CircuitBreaker.State.HALF_OPEN;
        if (trial && endless) {
            breaker.releasePermission();
        }
        return new CallPermit(trial && !endless);
    }

    /** The breaker counts failures; what they are it does not ask. */
    private static OipException failed() {
        return new OipException(ErrorCode.UNAVAILABLE, "failed");
    }

    private boolean breaking() {
        return settings.failureRate() < 1;
    }

    private Duration untilTrial() {
        Duration left = settings.open().minusMillis(clock.millis() - openedMillis);
        return breaker.getState() == CircuitBreaker.State.OPEN && left.isPositive() ? left : SOON;
    }

    private OipException refused(String what, Duration wait) {
        return OipException.refused(ErrorCode.UNAVAILABLE, "upstream '" + upstream + "' " + what, wait)
                .confidential();
    }

    /** 0 while calls pass, 1 while a few may try, 2 while none passes. */
    int state() {
        return switch (breaker.getState()) {
            case CLOSED, DISABLED, METRICS_ONLY -> 0;
            case HALF_OPEN -> 1;
            case OPEN, FORCED_OPEN -> 2;
        };
    }

    int underWay() {
        return most - bulkhead.getMetrics().getAvailableConcurrentCalls();
    }

    /** A call that was let in; used on its event loop. Its end is told once. */
    final class CallPermit {
        private final boolean trial;
        private boolean counted;
        private boolean left;

        private CallPermit(boolean trial) {
            this.trial = trial;
        }

        /** The first answer has come: what the breaker wants to know. */
        void answered() {
            if (breaking() && !counted) {
                counted = true;
                breaker.onSuccess(0, TimeUnit.NANOSECONDS);
            }
        }

        /** The call is over. */
        void ended(CallOutcome outcome) {
            if (left) {
                return;
            }
            left = true;
            bulkhead.releasePermission();
            if (breaking() && !counted) {
                counted = true;
                count(outcome);
            }
        }

        private void count(CallOutcome outcome) {
            switch (outcome) {
                case ANSWERED -> breaker.onSuccess(0, TimeUnit.NANOSECONDS);
                case FAILED -> breaker.onError(0, TimeUnit.NANOSECONDS, failed());
                case CANCELLED -> {
                    if (trial) {
                        breaker.releasePermission();
                    }
                }
            }
        }
    }
}

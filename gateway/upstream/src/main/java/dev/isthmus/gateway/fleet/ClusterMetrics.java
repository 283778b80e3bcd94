package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.HedgePolicy.HedgeEvent;
import dev.isthmus.gateway.metrics.ExemplarSpan;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The metrics of one cluster. Closing removes its meters from the registry. */
final class ClusterMetrics implements AutoCloseable {

    /** Why a call was not admitted. */
    enum Rejection {
        ADAPTIVE_LIMIT,
        BREAKER,
        BULKHEAD,
        NO_SERVER,
        QUEUE
    }

    /** Why a call does not wait, or no longer. */
    enum QueueRefusal {
        /** The caller has as many waiting calls as it may have. */
        CALLER_FULL,
        /** It gave way to a caller with fewer waiting calls. */
        DISPLACED,
        /** As many calls wait as may. */
        FULL,
        /** It waited until the time was over. */
        TIMEOUT,
        /** It would have waited longer than its time. */
        TOO_LATE
    }

    /** The states of the circuit breaker, in the order of their numbers. */
    enum BreakerState {
        CLOSED,
        HALF_OPEN,
        OPEN
    }

    /** When a call that is not admitted may be tried again, unless more is known. */
    static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private static final Duration[] BUCKETS =
            List.of(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000).stream()
                    .map(Duration::ofMillis)
                    .toArray(Duration[]::new);

    private final String name;
    private final Tags upstream;
    private final ReplaceableMeters meters;
    private final Map<CallOutcome, Timer> requests = new EnumMap<>(CallOutcome.class);
    private final Map<RetryOn, Counter> retries;
    private final Map<Rejection, Counter> rejections;
    private final Map<BreakerState, Counter> transitions;
    private final Counter exhausted;

    ClusterMetrics(String upstream, MeterRegistry registry) {
        this.name = upstream;
        this.meters = new ReplaceableMeters(registry);
        this.upstream = Tags.of("upstream", upstream);
        for (CallOutcome outcome : CallOutcome.values()) {
            requests.put(outcome, timer(outcome));
        }
        retries = counters(
                RetryOn.class,
                "isthmus.upstream.retries",
                "Retries. unsent: not processed by the first server; unavailable: it refused; lost: the connection"
                        + " ended; timeout: try_timeout",
                "reason");
        rejections = counters(
                Rejection.class,
                "isthmus.upstream.rejected",
                "Calls rejected before any attempt. adaptive_limit: adaptive_concurrency of each server; breaker: circuit"
                        + " breaker open; bulkhead: max_requests of the upstream; no_server: no server; queue: the queue,"
                        + " for the reasons of isthmus_upstream_queue_refused_total",
                "reason");
        transitions = counters(
                BreakerState.class, "isthmus.upstream.breaker.transitions", "Transitions of the circuit breaker", "to");
        exhausted = meters.add(Counter.builder("isthmus.upstream.retry.budget.exhausted")
                .description("Retries that the retry budget did not allow")
                .tags(this.upstream)::register);
    }

    private Timer timer(CallOutcome outcome) {
        return timer(
                "isthmus.upstream.requests",
                "Attempts at a server, requests within streams included, to the first response or the failure; 0 if the"
                        + " request was never complete. " + CallOutcome.LABELS,
                upstream.and("outcome", outcome.label()));
    }

    private Timer timer(String meter, String what, Tags tags) {
        return meters.add(Timer.builder(meter).description(what).tags(tags).serviceLevelObjectives(BUCKETS)::register);
    }

    /** One counter for each value, which is the value of the tag. */
    private <E extends Enum<E>> Map<E, Counter> counters(Class<E> values, String meter, String what, String tag) {
        Map<E, Counter> counters = new EnumMap<>(values);
        for (E value : values.getEnumConstants()) {
            Tags tags = upstream.and(tag, value.name().toLowerCase(Locale.ROOT));
            counters.put(
                    value, meters.add(Counter.builder(meter).description(what).tags(tags)::register));
        }
        return counters;
    }

    /** Registers gauges for the circuit breaker. */
    void watch(CircuitBreakers breakers) {
        meters.add(Gauge.builder("isthmus.upstream.breaker.state", breakers, CircuitBreakers::state)
                .description("State of the circuit breaker. 0: closed, 1: half-open, 2: open")
                .tags(upstream)::register);
        meters.add(Gauge.builder("isthmus.upstream.under.way", breakers, CircuitBreakers::activeCalls)
                .description("Concurrent calls to the upstream")
                .tags(upstream)::register);
        meters.add(Gauge.builder("isthmus.upstream.requests.limit", breakers, CircuitBreakers::maxCalls)
                .description("Concurrent calls that the upstream may have (max_requests)")
                .tags(upstream)::register);
    }

    /** Registers a gauge for the retry budget. */
    void watch(RetryBudget budget) {
        meters.add(Gauge.builder("isthmus.upstream.retry.budget", budget, RetryBudget::available)
                .description("Retries that the budget allows at present")
                .tags(upstream)::register);
    }

    /** The policy of hedging, with its counters. */
    HedgePolicy hedging(Hedging settings, Retry retry, LongSupplier nanoTime) {
        Map<HedgeEvent, Counter> events = counters(
                HedgeEvent.class,
                "isthmus.upstream.hedges",
                "Calls that took longer than most of their model (hedging). sent: also sent to a second server; won: which"
                        + " answered first; budget_exhausted, no_server: not sent",
                "event");
        return new HedgePolicy(settings, retry.maxBody(), nanoTime, event -> increment(events.get(event)));
    }

    /** What becomes of calls that must wait for the cluster. */
    final class QueueMeters {
        private final Timer waits = timer(
                "isthmus.upstream.queue.wait",
                "How long calls waited that were then sent (queue); calls that did not wait do not count",
                upstream);
        private final Map<QueueRefusal, Counter> refusals = counters(
                QueueRefusal.class,
                "isthmus.upstream.queue.refused",
                "Calls that were refused in place of waiting, or of waiting longer (queue). caller_full:"
                        + " max_waiting_per_caller; full: max_waiting; displaced: gave way to a caller with fewer waiting"
                        + " calls; too_late: would have waited longer than max_wait or the deadline; timeout: has waited"
                        + " that long",
                "reason");

        QueueMeters(CallQueue queue) {
            meters.add(Gauge.builder("isthmus.upstream.queue.waiting", queue, CallQueue::size)
                    .description("Calls that wait for the upstream (queue)")
                    .tags(upstream)::register);
        }

        void waited(long nanos) {
            waits.record(nanos, TimeUnit.NANOSECONDS);
        }

        /** Counts a refusal, which is one of the upstream's. */
        void refused(QueueRefusal reason) {
            increment(refusals.get(reason));
            increment(rejections.get(Rejection.QUEUE));
        }
    }

    void breakerChanged(BreakerState state) {
        increment(transitions.get(state));
    }

    void attempted(CallOutcome outcome, long nanos, TraceSpan span) {
        Timer timer = requests.get(outcome);
        if (timer != null) {
            ExemplarSpan.record(timer, nanos, span);
        }
    }

    void retried(RetryOn reason) {
        increment(retries.get(reason));
    }

    /** Counts a call that is not admitted, and returns its failure. */
    OipException rejected(Rejection reason, String what, Duration retryAfter) {
        increment(rejections.get(reason));
        return refusal(what, retryAfter);
    }

    /** The failure of a call that is not admitted: "upstream 'name' " followed by {@code what}. */
    OipException refusal(String what, Duration retryAfter) {
        return OipException.refused(ErrorCode.UNAVAILABLE, "upstream '" + name + "' " + what, retryAfter)
                .confidential();
    }

    void budgetExhausted() {
        exhausted.increment();
    }

    private static void increment(@Nullable Counter counter) {
        if (counter != null) {
            counter.increment();
        }
    }

    @Override
    public void close() {
        meters.close();
    }
}

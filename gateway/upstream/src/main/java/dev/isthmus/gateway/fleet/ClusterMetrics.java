package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.HedgePolicy.HedgeEvent;
import dev.isthmus.gateway.fleet.Replica.ReplicaCounts.CheckResult;
import dev.isthmus.gateway.fleet.Replica.ReplicaLoad;
import dev.isthmus.gateway.fleet.RetryPolicy.RetryBudget;
import dev.isthmus.gateway.metrics.ExemplarSpan;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.ConnectionCounts.ConnectFailure;
import dev.isthmus.gateway.upstream.ConnectionCounts.DurationSum;
import dev.isthmus.gateway.upstream.ConnectionCounts.ServerCloseCause;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/** The metrics of one cluster. Closing removes its meters from the registry. */
final class ClusterMetrics implements AutoCloseable {

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
    private final Map<FailureCause, Counter> rejections;
    private final Map<BreakerState, Counter> transitions;
    private final Counter exhausted;

    ClusterMetrics(String upstream, MeterRegistry registry) {
        this.name = upstream;
        this.meters = new ReplaceableMeters(registry);
        this.upstream = Tags.of("upstream", upstream);
        for (CallOutcome outcome : CallOutcome.values()) {
            requests.put(
                    outcome,
                    timer(
                            "isthmus.upstream.requests",
                            "Attempts at a server, requests within streams included, to the first response or the"
                                    + " failure; 0 if the request was never complete. " + CallOutcome.LABELS,
                            this.upstream.and("outcome", outcome.label())));
        }
        retries = counters(
                EnumSet.allOf(RetryOn.class),
                "isthmus.upstream.retries",
                "Retries. unsent: not processed by the first server; unavailable: it refused; lost: the connection"
                        + " ended; timeout: try_timeout",
                "reason");
        rejections = rejections(FailureCause.ADAPTIVE_LIMIT, FailureCause.NO_SERVER);
        transitions = counters(
                EnumSet.allOf(BreakerState.class),
                "isthmus.upstream.breaker.transitions",
                "Transitions of the circuit breaker",
                "to");
        exhausted = meters.add(Counter.builder("isthmus.upstream.retry.budget.exhausted")
                .description("Retries that the retry budget did not allow")
                .tags(this.upstream)::register);
    }

    private Timer timer(String meter, String what, Tags tags) {
        return meters.add(Timer.builder(meter).description(what).tags(tags).serviceLevelObjectives(BUCKETS)::register);
    }

    private Map<FailureCause, Counter> rejections(FailureCause first, FailureCause last) {
        return counters(
                EnumSet.range(first, last),
                "isthmus.upstream.rejected",
                "Calls rejected before any attempt, by cause; those of a queue did not wait, or no longer",
                "cause");
    }

    /** One counter for each value, which is the value of the tag. */
    private <E extends Enum<E>> Map<E, Counter> counters(Set<E> values, String meter, String what, String tag) {
        return LabelledCounters.of(
                values,
                value -> meters.add(Counter.builder(meter)
                        .description(what)
                        .tags(upstream.and(tag, value.name().toLowerCase(Locale.ROOT)))::register));
    }

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

    void watch(RetryBudget budget) {
        meters.add(Gauge.builder("isthmus.upstream.retry.budget", budget, RetryBudget::available)
                .description("Retries that the budget allows at present")
                .tags(upstream)::register);
    }

    HedgePolicy hedging(Hedging settings, Retry retry, LongSupplier nanoTime) {
        Map<HedgeEvent, Counter> events = counters(
                EnumSet.allOf(HedgeEvent.class),
                "isthmus.upstream.hedges",
                "Calls that took longer than most of their model (hedging). sent: also sent to a second server; won: which"
                        + " answered first; budget_exhausted, no_server: not sent",
                "event");
        return new HedgePolicy(settings, retry.maxBody(), nanoTime, event -> LabelledCounters.increment(events, event));
    }

    /** Registers the meters of a queue; returns that of how long calls waited. */
    Timer queue(CallQueue queue) {
        rejections.putAll(rejections(FailureCause.QUEUE_CALLER_FULL, FailureCause.QUEUE_TOO_LATE));
        meters.add(Gauge.builder("isthmus.upstream.queue.waiting", queue, CallQueue::size)
                .description("Calls that wait for the upstream (queue)")
                .tags(upstream)::register);
        return timer(
                "isthmus.upstream.queue.wait",
                "How long calls waited that were then sent (queue); calls that did not wait do not count",
                upstream);
    }

    void breakerChanged(BreakerState state) {
        LabelledCounters.increment(transitions, state);
    }

    void attempted(CallOutcome outcome, long nanos, TraceSpan span) {
        Timer timer = requests.get(outcome);
        if (timer != null) {
            ExemplarSpan.record(timer, nanos, span);
        }
    }

    void retried(RetryOn reason) {
        LabelledCounters.increment(retries, reason);
    }

    /** Counts a call that is not admitted, and returns its failure: "upstream 'name' " followed by {@code what}. */
    OipException rejected(FailureCause why, String what, Duration retryAfter) {
        rejected(why);
        return OipException.refused(ErrorCode.UNAVAILABLE, "upstream '" + name + "' " + what, retryAfter)
                .confidential()
                .because(why);
    }

    void rejected(FailureCause why) {
        LabelledCounters.increment(rejections, why);
    }

    void budgetExhausted() {
        exhausted.increment();
    }

    @Override
    public void close() {
        meters.close();
    }

    /** The meters of one server while it is a member of its cluster. All are read when they are exported. */
    static final class EndpointMeters implements AutoCloseable {
        private final ReplaceableMeters meters;
        private final Tags tags;
        private final Replica replica;

        /** @param queue whether the server's queue depth is polled */
        EndpointMeters(MeterRegistry registry, String upstream, Replica replica, LongSupplier nanoTime, boolean queue) {
            this.meters = new ReplaceableMeters(registry);
            this.tags = Tags.of("upstream", upstream, "endpoint", replica.label());
            this.replica = replica;
            state(nanoTime);
            requests();
            checks();
            if (replica.adaptiveLimit() != null) {
                replica.adaptiveLimit().register(meters, tags);
            }
            ConnectionCounts connections = replica.server().connections();
            if (connections != null) {
                connections(connections);
            }
            if (queue) {
                meters.add(Gauge.builder("isthmus.endpoint.pending", replica, it -> pending(it, nanoTime))
                        .description("Requests pending in the server, with queue_aware; NaN if unknown")
                        .tags(tags)::register);
            }
        }

        private void state(LongSupplier nanoTime) {
            meters.add(Gauge.builder("isthmus.endpoint.healthy", replica, it -> it.usable(nanoTime.getAsLong()) ? 1 : 0)
                    .description("1 if the server is eligible for calls: not known to be unready, and not ejected")
                    .tags(tags)::register);
            meters.add(Gauge.builder("isthmus.endpoint.ejected", replica, it -> ejected(it, nanoTime))
                    .description("1 while the server is ejected because calls failed")
                    .tags(tags)::register);
            meters.add(FunctionCounter.builder(
                            "isthmus.endpoint.ejections",
                            replica,
                            it -> it.ejection().count())
                    .description("Ejections of the server because calls failed")
                    .tags(tags)::register);
            meters.add(Gauge.builder("isthmus.endpoint.under.way", replica.load(), ReplicaLoad::inFlight)
                    .description("Concurrent calls to the server")
                    .tags(tags)::register);
        }

        private static double ejected(Replica replica, LongSupplier nanoTime) {
            return replica.ejection().ejected(nanoTime.getAsLong()) ? 1 : 0;
        }

        private void requests() {
            for (CallOutcome outcome : CallOutcome.values()) {
                durations(
                        "isthmus.endpoint.requests",
                        "Attempts at the server, requests within streams included, to the first response or the failure. "
                                + CallOutcome.LABELS,
                        tags.and("outcome", outcome.label()),
                        replica.counts().requests(outcome));
            }
        }

        private void checks() {
            for (CheckResult result : CheckResult.values()) {
                durations(
                        "isthmus.endpoint.checks",
                        "Health checks of the server. failed: no response, or not in time",
                        tags.and("result", result.label()),
                        replica.counts().checks(result));
            }
        }

        private void durations(String name, String what, Tags labels, DurationSum sum) {
            meters.add(FunctionTimer.builder(name, sum, DurationSum::count, DurationSum::nanos, TimeUnit.NANOSECONDS)
                    .description(what)
                    .tags(labels)::register);
        }

        private void connections(ConnectionCounts counts) {
            meters.add(Gauge.builder("isthmus.endpoint.connections.open", counts, ConnectionCounts::open)
                    .description("Open connections to the server")
                    .tags(tags)::register);
            count(counts, "opened", "Connections that were established", tags, ConnectionCounts::opened);
            for (ServerCloseCause cause : ServerCloseCause.values()) {
                count(
                        counts,
                        "closed",
                        "Connections that were closed. server: by the server; idle: not used for a while; unresponsive: a"
                                + " PING was not answered; gateway: after a cancelled call or an error",
                        tags.and("cause", cause.label()),
                        it -> it.closed(cause));
            }
            for (ConnectFailure reason : ConnectFailure.values()) {
                count(
                        counts,
                        "failed",
                        "TCP connections that could not be established",
                        tags.and("reason", reason.label()),
                        it -> it.failed(reason));
            }
            meters.add(Gauge.builder("isthmus.endpoint.connection.waiting", counts, ConnectionCounts::waiting)
                    .description(
                            "Calls that wait for a connection, because it is being established or the pool is full")
                    .tags(tags)::register);
            durations(
                    "isthmus.endpoint.connection.wait",
                    "How long calls waited for a connection, those that did not wait excluded",
                    tags,
                    counts.waits());
        }

        private void count(
                ConnectionCounts counts,
                String name,
                String what,
                Tags labels,
                ToDoubleFunction<ConnectionCounts> value) {
            meters.add(FunctionCounter.builder("isthmus.endpoint.connections." + name, counts, value)
                    .description(what)
                    .tags(labels)::register);
        }

        private static double pending(Replica replica, LongSupplier nanoTime) {
            long pending = replica.load().pending(nanoTime.getAsLong());
            return pending < 0 ? Double.NaN : pending;
        }

        @Override
        public void close() {
            meters.close();
        }
    }
}

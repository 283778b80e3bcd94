package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.fleet.ReplicaCounts.CheckResult;
import dev.isthmus.gateway.fleet.ReplicaCounts.DurationSum;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.ConnectionCounts.ConnectFailure;
import dev.isthmus.gateway.upstream.ConnectionCounts.ServerCloseCause;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/** The meters of one server while it is a member of its cluster. All are read when they are exported. */
final class EndpointMeters implements AutoCloseable {
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
        meters.add(Gauge.builder("isthmus.endpoint.under.way", replica, Replica::activeRequests)
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
                .description("Calls that wait for a connection, because it is being established or the pool is full")
                .tags(tags)::register);
        meters.add(FunctionTimer.builder(
                        "isthmus.endpoint.connection.wait",
                        counts,
                        ConnectionCounts::waits,
                        ConnectionCounts::waitNanos,
                        TimeUnit.NANOSECONDS)
                .description("How long calls waited for a connection, those that did not wait excluded")
                .tags(tags)::register);
    }

    private void count(
            ConnectionCounts counts, String name, String what, Tags labels, ToDoubleFunction<ConnectionCounts> value) {
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

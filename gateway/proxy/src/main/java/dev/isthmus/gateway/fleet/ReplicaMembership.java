package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Which servers belong to a set. Those that stay keep their state; those that go are closed when their calls have ended.
 * Changed under its lock, read without.
 */
final class ReplicaMembership implements AutoCloseable {
    /** Longer than it takes from the choice of a server to the start of the call. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String upstream;
    private final UpstreamConfig config;
    private final ReplicaFactory opening;
    private final Supplier<Set<ModelRef>> models;
    private final ClusterResources around;
    private final Object ejecting = new Object();
    private final Set<WatchedAddress> leaving = new HashSet<>();
    private Map<Endpoint, WatchedAddress> members = Map.of();
    private volatile List<Replica> replicas = List.of();
    private boolean closed;

    ReplicaMembership(
            String upstream,
            UpstreamConfig config,
            ReplicaFactory opening,
            Supplier<Set<ModelRef>> models,
            ClusterResources around) {
        this.upstream = upstream;
        this.config = config;
        this.opening = opening;
        this.models = models;
        this.around = around;
    }

    /** The servers now; another list when they change. */
    List<Replica> replicas() {
        return replicas;
    }

    /**
     * These are the servers from now on.
     *
     * @param joining whether new ones join others that have served before, and start slowly
     */
    synchronized void update(List<DiscoveredServer> found, boolean joining) {
        if (closed) {
            return;
        }
        Map<Endpoint, WatchedAddress> before = new HashMap<>(members);
        Map<Endpoint, WatchedAddress> now = new LinkedHashMap<>();
        for (DiscoveredServer each : found) {
            WatchedAddress stays = before.remove(each.address());
            if (stays != null) {
                now.put(each.address(), stays);
            } else {
                now.computeIfAbsent(each.address(), address -> open(address, each.authority(), joining));
            }
        }
        members = now;
        replicas = now.values().stream().map(WatchedAddress::replica).toList();
        before.values().forEach(this::leave);
    }

    private WatchedAddress open(Endpoint address, String authority, boolean joining) {
        Upstream server = opening.open(address, authority);
        long now = around.nanoTime().getAsLong();
        var window = config.balance().slowStart();
        Replica replica = new Replica(
                address.authority(),
                server,
                around.nanoTime(),
                new Ejection(config.outliers(), ejecting, this::oneMoreMayBeEjected),
                joining ? SlowStart.joining(window, now) : SlowStart.full(window, now));
        boolean queue = config.balance().policy() == BalancePolicy.QUEUE_AWARE;
        HealthChecker checker = new HealthChecker(upstream, replica, config.checks(), models, around);
        checker.start();
        QueueDepthProbe watch = new QueueDepthProbe(
                replica, new Endpoint(address.host(), config.balance().metricsPort()), around);
        if (queue) {
            watch.start();
        }
        var meters = new EndpointMeters(around.meters(), upstream, replica, around.nanoTime(), queue);
        return new WatchedAddress(replica, checker, watch, meters);
    }

    private boolean oneMoreMayBeEjected() {
        return Ejection.room(replicas, config.outliers(), around.nanoTime().getAsLong());
    }

    private void leave(WatchedAddress member) {
        leaving.add(member);
        member.forget();
        closeWhenIdle(member, around.nanoTime().getAsLong() + config.timeout().toNanos());
    }

    /** Calls that last longer than a call may, as streams do, end with it. */
    private void closeWhenIdle(WatchedAddress member, long deadline) {
        try {
            around.loop().schedule(() -> closeIfIdle(member, deadline), GRACE_NANOS, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The gateway is ending.
            member.close();
        }
    }

    private synchronized void closeIfIdle(WatchedAddress member, long deadline) {
        boolean late = around.nanoTime().getAsLong() - deadline >= 0;
        if (late || member.replica().underWay() == 0) {
            leaving.remove(member);
            member.close();
        } else {
            closeWhenIdle(member, deadline);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        members.values().forEach(WatchedAddress::forget);
        members.values().forEach(WatchedAddress::close);
        leaving.forEach(WatchedAddress::close);
        members = Map.of();
        leaving.clear();
    }

    private record WatchedAddress(
            Replica replica, HealthChecker checker, QueueDepthProbe queue, EndpointMeters meters) {

        void forget() {
            checker.close();
            queue.close();
            meters.close();
        }

        void close() {
            replica.server().close();
        }
    }
}

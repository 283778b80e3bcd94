package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.adaptive.AdaptiveLimit;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The members of a replica set. Servers that remain keep their state; servers that leave are closed when their calls
 * have ended. Written under its lock, read without.
 */
final class ReplicaMembership implements AutoCloseable {
    /** Longer than the time between choosing a server and the start of the call. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Duration QUEUE_INTERVAL = Duration.ofMillis(500);

    /** Each costs memory and health checks, and discovery may find any number. */
    static final int MAX_SERVERS = 1000;

    private static final Logger LOG = LoggerFactory.getLogger(ReplicaMembership.class);

    private final String upstream;
    private final UpstreamConfig config;
    private final Function<DiscoveredServer, Upstream> factory;
    private final Supplier<Set<ModelRef>> models;
    private final ClusterResources resources;
    private final Object ejectionLock = new Object();
    private final AtomicLong changes;
    private final Set<WatchedAddress> leaving = new HashSet<>();
    private Map<Endpoint, WatchedAddress> members = Map.of();
    private volatile List<Replica> replicas = List.of();
    private boolean closed;

    ReplicaMembership(
            String upstream,
            UpstreamConfig config,
            Function<DiscoveredServer, Upstream> factory,
            Supplier<Set<ModelRef>> models,
            ClusterResources resources,
            AtomicLong changes) {
        this.upstream = upstream;
        this.config = config;
        this.factory = factory;
        this.models = models;
        this.resources = resources;
        this.changes = changes;
    }

    /** The current servers; a new list when they change. */
    List<Replica> replicas() {
        return replicas;
    }

    /**
     * Replaces the members.
     *
     * @param joining whether new servers join others that already serve calls, and so slow-start
     */
    synchronized void update(List<DiscoveredServer> found, boolean joining) {
        if (closed) {
            return;
        }
        Map<Endpoint, WatchedAddress> removed = new HashMap<>(members);
        Map<Endpoint, WatchedAddress> current = new LinkedHashMap<>();
        if (found.size() > MAX_SERVERS) {
            LOG.atWarn()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("upstream", upstream)
                    .log(
                            "upstream '{}': at most {} servers are expected, found {}; the others get no calls",
                            upstream,
                            MAX_SERVERS,
                            found.size());
        }
        for (DiscoveredServer each : found.subList(0, Math.min(found.size(), MAX_SERVERS))) {
            WatchedAddress existing = removed.remove(each.address());
            if (existing != null) {
                current.put(each.address(), existing);
            } else {
                current.computeIfAbsent(each.address(), address -> open(each, joining));
            }
        }
        members = current;
        replicas = current.values().stream().map(WatchedAddress::replica).toList();
        removed.values().forEach(this::leave);
    }

    private WatchedAddress open(DiscoveredServer found, boolean joining) {
        long now = resources.nanoTime().getAsLong();
        var window = config.balance().slowStart();
        AdaptiveConcurrency adaptive = config.adaptiveConcurrency();
        Replica replica = new Replica(
                found.address().authority(),
                factory.apply(found),
                resources.nanoTime(),
                new Ejection(config.outliers(), ejectionLock, this::canEject),
                joining ? SlowStart.joining(window, now) : SlowStart.full(window, now),
                adaptive == null ? null : new AdaptiveLimit(adaptive, resources.nanoTime(), resources.random()),
                changes);
        boolean queue = config.balance().policy() == BalancePolicy.QUEUE_AWARE;
        HealthChecker checker = new HealthChecker(upstream, replica, config.checks(), models, resources);
        checker.start();
        var queueProbe = new PeriodicProbe(QUEUE_INTERVAL, resources, probe -> readQueue(replica, found, probe));
        if (queue) {
            queueProbe.start();
        }
        var meters = new EndpointMeters(resources.meters(), upstream, replica, resources.nanoTime(), queue);
        return new WatchedAddress(replica, checker, queueProbe, meters);
    }

    private void readQueue(Replica replica, DiscoveredServer at, PeriodicProbe probe) {
        long sentBefore = replica.load().sent();
        Endpoint metrics = new Endpoint(at.address().host(), config.balance().metricsPort());
        resources.pending().read(metrics, at.authority(), pending -> {
            if (pending != QueueDepthSource.UNKNOWN) {
                replica.load().read(pending, sentBefore, resources.nanoTime().getAsLong());
            }
            probe.completed();
        });
    }

    /**
     * Checks the models of this name on all servers now.
     *
     * @throws RejectedExecutionException if the gateway is shutting down
     */
    CompletableFuture<Void> recheck(String model) {
        return CompletableFuture.allOf(checkers(replica -> true)
                .map(checker -> CompletableFuture.supplyAsync(() -> checker.recheck(model), resources.loop())
                        .thenCompose(checked -> checked))
                .toArray(CompletableFuture<?>[]::new));
    }

    /** This server has denied a model that is known to be ready on it. */
    void suspect(Replica server, String model) {
        try {
            checkers(replica -> replica == server)
                    .forEach(checker -> resources.loop().execute(() -> checker.suspect(model)));
        } catch (RejectedExecutionException closing) {
            LOG.debug("the gateway is shutting down");
        }
    }

    private synchronized Stream<HealthChecker> checkers(Predicate<Replica> of) {
        return members.values().stream()
                .filter(member -> of.test(member.replica()))
                .map(WatchedAddress::checker);
    }

    private boolean canEject() {
        return Ejection.mayEject(
                replicas, config.outliers(), resources.nanoTime().getAsLong());
    }

    private void leave(WatchedAddress member) {
        leaving.add(member);
        member.forget();
        closeWhenIdle(
                member, resources.nanoTime().getAsLong() + config.timeout().toNanos());
    }

    /** Calls that outlast the configured timeout, as streams may, end when the server is closed. */
    private void closeWhenIdle(WatchedAddress member, long deadline) {
        try {
            resources.loop().schedule(() -> closeIfIdle(member, deadline), GRACE_NANOS, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The gateway is shutting down.
            member.close();
        }
    }

    private synchronized void closeIfIdle(WatchedAddress member, long deadline) {
        boolean late = resources.nanoTime().getAsLong() - deadline >= 0;
        if (late || member.replica().activeRequests() == 0) {
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

    private record WatchedAddress(Replica replica, HealthChecker checker, PeriodicProbe queue, EndpointMeters meters) {

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

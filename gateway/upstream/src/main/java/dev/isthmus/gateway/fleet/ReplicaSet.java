package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.adaptive.AdaptiveLimit;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.ClusterMetrics.EndpointMeters;
import dev.isthmus.gateway.fleet.ClusterResources.QueueDepthSource;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Ejection.OutlierDetector;
import dev.isthmus.gateway.fleet.Replica.SlowStart;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
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
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The servers of a cluster, and the choice among them. Servers that remain keep their state; servers that leave are closed
 * when their calls have ended. Written under its lock, read without.
 */
public final class ReplicaSet implements AutoCloseable {
    /** Longer than the time between choosing a server and the start of the call. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Duration QUEUE_INTERVAL = Duration.ofMillis(500);

    /** Each costs memory and health checks, and discovery may find any number. */
    static final int MAX_SERVERS = 1000;

    private static final Logger LOG = LoggerFactory.getLogger(ReplicaSet.class);

    private final String upstream;
    private final UpstreamConfig config;
    private final Function<DiscoveredServer, Upstream> factory;
    private final Supplier<Set<ModelRef>> models;
    private final ReplicaSelection selection;
    private final Balancer balancer;
    private final boolean adaptive;
    private final ClusterResources resources;
    private final Object ejectionLock = new Object();
    /** Incremented after each change of what decides whether a server is eligible. */
    private final AtomicLong changes = new AtomicLong();

    private final Set<WatchedAddress> leaving = new HashSet<>();
    private Map<Endpoint, WatchedAddress> members = Map.of();
    /** All servers, and those of them that are in service: the same list if none is drained. */
    private volatile List<Replica> known = List.of();

    private volatile List<Replica> replicas = List.of();
    private boolean closed;
    /** Servers by their addresses; guarded by this. */
    private List<DiscoveredServer> literals = List.of();
    /** Servers found by their names; guarded by this. */
    private List<DiscoveredServer> found = List.of();
    /** The gateway's own; written under the lock. */
    private volatile Map<String, SecretText> headers;

    private final Discovery.@Nullable Registration registration;
    private final ReplaceableMeters meters;
    private final PeriodicProbe outliers;
    private final Runnable unwatched;

    /**
     * A set whose servers are resolved, checked and measured until {@link #close()}.
     *
     * @param factory creates the client of a server, which has not connected yet; may be called on an event loop
     * @param models the models checked on each server; read again for each round of checks, on the loop
     */
    public ReplicaSet(
            String upstream,
            UpstreamConfig config,
            Function<DiscoveredServer, Upstream> factory,
            Supplier<Set<ModelRef>> models,
            ClusterResources resources) {
        this.upstream = upstream;
        this.config = config;
        this.factory = factory;
        this.models = models;
        this.selection = new ReplicaSelection(config.outliers().panicThreshold(), resources.random(), changes);
        this.balancer = Balancer.of(config.balance().policy(), resources.random());
        this.adaptive = config.adaptiveConcurrency() != null;
        this.resources = resources;
        this.headers = config.headers();
        unwatched = resources.drained().watch(this::takeOut);
        literals(config.endpoints());
        List<ServerAddress> named = config.lasting().endpoints();
        registration = named.isEmpty() ? null : resources.discovery().watch(named, config.dnsRefresh(), this::found);
        // With those that are drained: what they did before is not to count when they return.
        outliers = new OutlierDetector(config.outliers().errorRate(), () -> known).start(resources);
        meters = meters();
    }

    private ReplaceableMeters meters() {
        ReplaceableMeters added = new ReplaceableMeters(resources.meters());
        Tags tags = Tags.of("upstream", upstream);
        added.add(Gauge.builder("isthmus.upstream.endpoints", this, it -> it.known.size())
                .description("Servers of the upstream")
                .tags(tags)::register);
        if (registration != null) {
            for (boolean success : new boolean[] {true, false}) {
                added.add(FunctionCounter.builder("isthmus.dns.lookups", registration, it -> it.lookUps(success))
                        .description("Look-ups of the host names of an upstream's servers; after a failure the last"
                                + " result stays")
                        .tags(tags.and("result", success ? "ok" : "failed"))::register);
            }
        }
        return added;
    }

    /** Replaces the servers that are endpoints by their addresses; those that stay keep connections and state. */
    public synchronized void literals(List<ServerAddress> endpoints) {
        List<DiscoveredServer> before = literals;
        literals = literalsOf(endpoints);
        if (!literals.equals(before)) {
            update(!known.isEmpty());
        }
    }

    /** Sets the headers of {@link Upstream#ownHeaders} for all servers. */
    public synchronized void ownHeaders(Map<String, SecretText> own) {
        if (!own.equals(headers)) {
            headers = own;
            Stream.concat(members.values().stream(), leaving.stream())
                    .forEach(each -> each.replica().server().ownHeaders(own));
        }
    }

    private static List<DiscoveredServer> literalsOf(List<ServerAddress> endpoints) {
        return endpoints.stream()
                .filter(ServerAddress::literal)
                .map(address -> ((ServerAddress.HostAddress) address).endpoint())
                .map(endpoint -> new DiscoveredServer(endpoint, endpoint.authority()))
                .toList();
    }

    /** Whether a server would stay with these endpoints: those found by their names do. */
    public synchronized boolean keepsAny(List<ServerAddress> endpoints) {
        return registration != null || !Collections.disjoint(literals, literalsOf(endpoints));
    }

    /** Servers found by the first look-ups start at full share; later ones slow-start. */
    private synchronized void found(List<DiscoveredServer> servers) {
        Discovery.Registration watching = registration;
        found = servers;
        update(watching != null && watching.first().isDone());
    }

    /** @param joining whether new servers join others that already serve calls, and so slow-start */
    private void update(boolean joining) {
        if (closed) {
            return;
        }
        List<DiscoveredServer> all = new ArrayList<>(literals);
        all.addAll(found);
        Map<Endpoint, WatchedAddress> removed = new HashMap<>(members);
        Map<Endpoint, WatchedAddress> current = new LinkedHashMap<>();
        if (all.size() > MAX_SERVERS) {
            RepeatingLogEvent.warn(LOG)
                    .addKeyValue("upstream", upstream)
                    .log(
                            "upstream '{}': at most {} servers are expected, found {}; the others get no calls",
                            upstream,
                            MAX_SERVERS,
                            all.size());
        }
        for (DiscoveredServer each : all.subList(0, Math.min(all.size(), MAX_SERVERS))) {
            WatchedAddress existing = removed.remove(each.address());
            if (existing != null) {
                current.put(each.address(), existing);
            } else {
                current.computeIfAbsent(each.address(), address -> open(each, joining));
            }
        }
        members = current;
        known = current.values().stream().map(WatchedAddress::replica).toList();
        takeOut();
        removed.values().forEach(this::leave);
    }

    /** Calls go to the servers that are not drained. */
    private synchronized void takeOut() {
        replicas = serving(Long.MAX_VALUE);
    }

    /** Those for a call that began at this time; all of them if none is drained. */
    private List<Replica> serving(long began) {
        List<Replica> all = known;
        List<Replica> serving = all.stream()
                .filter(replica -> resources.drained().serves(replica.label(), began))
                .toList();
        return serving.size() == all.size() ? all : serving;
    }

    private WatchedAddress open(DiscoveredServer server, boolean joining) {
        long now = resources.nanoTime().getAsLong();
        var window = config.balance().slowStart();
        AdaptiveConcurrency limit = config.adaptiveConcurrency();
        Replica replica = new Replica(
                server.address().authority(),
                upstream(server),
                resources.nanoTime(),
                new Ejection(config.outliers(), ejectionLock, this::canEject),
                joining ? SlowStart.joining(window, now) : SlowStart.full(window, now),
                limit == null ? null : new AdaptiveLimit(limit, resources.nanoTime(), resources.random()),
                changes);
        boolean queue = config.balance().policy() == BalancePolicy.QUEUE_AWARE;
        HealthChecker checker = new HealthChecker(upstream, replica, config.checks(), models, resources);
        checker.start();
        var queueProbe = new PeriodicProbe(QUEUE_INTERVAL, resources, probe -> readQueue(replica, server, probe));
        if (queue) {
            queueProbe.start();
        }
        var endpoint = new EndpointMeters(resources.meters(), upstream, replica, resources.nanoTime(), queue);
        return new WatchedAddress(replica, checker, queueProbe, endpoint);
    }

    private Upstream upstream(DiscoveredServer server) {
        Upstream made = factory.apply(server);
        made.ownHeaders(headers);
        return made;
    }

    private void readQueue(Replica replica, DiscoveredServer at, PeriodicProbe probe) {
        long sentBefore = replica.load().sent();
        Endpoint metrics = new Endpoint(at.address().host(), config.balance().metricsPort());
        resources.pending().read(metrics, at.authority(), headers, pending -> {
            if (pending != QueueDepthSource.UNKNOWN) {
                replica.load().read(pending, sentBefore, resources.nanoTime().getAsLong());
            }
            probe.completed();
        });
    }

    /**
     * Completes when each host name among the endpoints has been resolved or has failed to resolve once; at once
     * without host names.
     */
    public CompletableFuture<Void> resolved() {
        return registration == null ? CompletableFuture.completedFuture(null) : registration.first();
    }

    ClusterResources resources() {
        return resources;
    }

    /** The current servers that calls go to; a new list when they change. */
    List<Replica> all() {
        return replicas;
    }

    public List<ReplicaStatus> members() {
        long now = resources.nanoTime().getAsLong();
        return known.stream().map(replica -> member(replica, now)).toList();
    }

    private ReplicaStatus member(Replica replica, long now) {
        ReplicaReadiness seen = replica.readiness();
        String drained = resources.drained().of(replica.label());
        return new ReplicaStatus(
                upstream,
                replica.label(),
                replica.server(),
                drained != null || seen.server() != ReplicaReadiness.ServerState.UNKNOWN,
                drained == null && seen.server() != ReplicaReadiness.ServerState.NOT_READY,
                drained == null ? seen.reason() : drained,
                seen.models(),
                drained == null && replica.ejection().ejected(now),
                drained != null);
    }

    /**
     * Checks the models of this name on all servers now: they were loaded or unloaded.
     *
     * @return completes when the results are published
     * @throws RejectedExecutionException if the gateway is shutting down
     */
    public CompletableFuture<Void> recheck(String model) {
        return CompletableFuture.allOf(checkers(replica -> true)
                .map(checker -> CompletableFuture.supplyAsync(
                                () -> checker.models().recheck(model), resources.loop())
                        .thenCompose(checked -> checked))
                .toArray(CompletableFuture<?>[]::new));
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
        if (late || member.replica().load().inFlight() == 0) {
            leaving.remove(member);
            member.close();
        } else {
            closeWhenIdle(member, deadline);
        }
    }

    /** A server has answered a request for this model with a failure: if it says that it is gone, it is checked now. */
    void answered(Replica replica, ModelRef model, OipException failure) {
        if (denied(failure)
                && !replica.readiness().models().isEmpty()
                && replica.readiness().mayServe(model)) {
            suspect(replica, model.name());
        }
    }

    private void suspect(Replica server, String model) {
        checkers(replica -> replica == server)
                .forEach(checker -> EventLoops.handOver(
                        resources.loop(), () -> checker.models().suspect(model)));
    }

    /** Whether a server says that it does not have the model. */
    static boolean denied(OipException failure) {
        return failure.code() == ErrorCode.NOT_FOUND;
    }

    /** Whether this server has denied a model that is known to be ready on another one. */
    boolean isElsewhere(Replica replica, ModelRef model, OipException failure) {
        return denied(failure)
                && all().stream()
                        .anyMatch(other -> other != replica
                                && Boolean.TRUE.equals(
                                        other.readiness().models().get(model)));
    }

    /**
     * Chooses a server for a call, whatever calls it has.
     *
     * @param tried servers to avoid if there is another
     * @return null if there is none because no name has been resolved yet
     */
    @Nullable
    Replica pick(Call call, ModelRef model, Collection<Replica> tried) {
        return pick(call, model, tried, false);
    }

    /**
     * Chooses a server for an inference. The same as {@link #pick(Call, ModelRef, Collection)} without adaptive limits.
     *
     * @return null if there is none, or no usable server has room for another call; for a sequence, which stays where
     *     its state is, if its server has none
     */
    @Nullable
    Replica pickWithRoom(Call call, ModelRef model, Collection<Replica> tried) {
        if (!adaptive) {
            return pick(call, model, tried, false);
        }
        Replica chosen = pick(call, model, tried, !call.sequence());
        return chosen != null && chosen.room() > 0 ? chosen : null;
    }

    /** How many calls all servers may have at once; {@link Integer#MAX_VALUE} without adaptive limits. */
    int concurrencyLimit() {
        return adaptive ? sum(Replica::concurrencyLimit) : Integer.MAX_VALUE;
    }

    /** How many more calls the servers may have; {@link Integer#MAX_VALUE} without adaptive limits. */
    int room() {
        return adaptive ? sum(Replica::room) : Integer.MAX_VALUE;
    }

    private int sum(ToIntFunction<Replica> of) {
        int sum = 0;
        for (Replica replica : all()) {
            sum += of.applyAsInt(replica);
        }
        return sum;
    }

    private @Nullable Replica pick(Call call, ModelRef model, Collection<Replica> tried, boolean withRoom) {
        List<Replica> all = all();
        if (all != known && call.sequence()) {
            // The state of a sequence that began before is on the server that is drained.
            all = serving(call.sequenceNanos());
        }
        if (all.size() < 2) {
            return all.isEmpty() ? null : all.getFirst();
        }
        long now = resources.nanoTime().getAsLong();
        List<Replica> eligible = selection.of(all, call, model, tried, now, withRoom);
        return eligible.isEmpty() ? null : balancer.choose(eligible, call, now);
    }

    @Override
    public void close() {
        unwatched.run();
        meters.close();
        outliers.close();
        if (registration != null) {
            registration.close();
        }
        synchronized (this) {
            closed = true;
            members.values().forEach(WatchedAddress::forget);
            members.values().forEach(WatchedAddress::close);
            leaving.forEach(WatchedAddress::close);
            members = Map.of();
            leaving.clear();
        }
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

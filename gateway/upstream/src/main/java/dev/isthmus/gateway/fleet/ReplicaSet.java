package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** The servers of a cluster, and the choice among them. Thread-safe. */
public final class ReplicaSet implements AutoCloseable {
    private final String upstream;
    private final ReplicaMembership membership;
    private final ReplicaSelection selection;
    private final Balancer balancer;
    private final boolean adaptive;
    private final ClusterResources resources;
    /** Servers by their addresses; guarded by this. */
    private List<DiscoveredServer> literals = List.of();
    /** Servers found by their names; guarded by this. */
    private List<DiscoveredServer> found = List.of();

    private final Discovery.@Nullable Registration registration;
    private final ReplaceableMeters meters;
    private final PeriodicProbe outliers;

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
        AtomicLong changes = new AtomicLong();
        this.membership = new ReplicaMembership(upstream, config, factory, models, resources, changes);
        this.selection = new ReplicaSelection(config.outliers().panicThreshold(), resources.random(), changes);
        this.balancer = Balancer.of(config.balance().policy(), resources.random());
        this.adaptive = config.adaptiveConcurrency() != null;
        this.resources = resources;
        literals(config.endpoints());
        List<ServerAddress> named = config.withoutLiterals().endpoints();
        registration = named.isEmpty() ? null : resources.discovery().watch(named, config.dnsRefresh(), this::found);
        outliers = new OutlierDetector(config.outliers().errorRate(), membership::replicas).start(resources);
        meters = meters();
    }

    private ReplaceableMeters meters() {
        ReplaceableMeters added = new ReplaceableMeters(resources.meters());
        Tags tags = Tags.of("upstream", upstream);
        added.add(
                Gauge.builder("isthmus.upstream.endpoints", this, it -> it.all().size())
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
    synchronized void literals(List<ServerAddress> endpoints) {
        List<DiscoveredServer> before = literals;
        literals = literalsOf(endpoints);
        if (!literals.equals(before)) {
            update(!all().isEmpty());
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
    synchronized boolean keepsAny(List<ServerAddress> endpoints) {
        return registration != null || !Collections.disjoint(literals, literalsOf(endpoints));
    }

    /** Servers found by the first look-ups start at full share; later ones slow-start. */
    private synchronized void found(List<DiscoveredServer> servers) {
        Discovery.Registration watching = registration;
        found = servers;
        update(watching != null && watching.first().isDone());
    }

    private void update(boolean joining) {
        List<DiscoveredServer> all = new ArrayList<>(literals);
        all.addAll(found);
        membership.update(all, joining);
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

    List<Replica> all() {
        return membership.replicas();
    }

    /** The servers and their current state. */
    List<ReplicaStatus> members() {
        long now = resources.nanoTime().getAsLong();
        return all().stream().map(replica -> member(replica, now)).toList();
    }

    private ReplicaStatus member(Replica replica, long now) {
        ReplicaReadiness seen = replica.readiness();
        return new ReplicaStatus(
                upstream,
                replica.label(),
                replica.server(),
                seen.server() != ReplicaReadiness.ServerState.UNKNOWN,
                seen.server() != ReplicaReadiness.ServerState.NOT_READY,
                seen.reason(),
                seen.models(),
                replica.ejection().ejected(now));
    }

    /**
     * Checks the models of this name on all servers now: they were loaded or unloaded.
     *
     * @return completes when the results are published
     * @throws java.util.concurrent.RejectedExecutionException if the gateway is shutting down
     */
    CompletableFuture<Void> recheck(String model) {
        return membership.recheck(model);
    }

    /** A server has answered a request for this model with a failure: if it says that it is gone, it is checked now. */
    void answered(Replica replica, ModelRef model, OipException failure) {
        if (denied(failure)
                && !replica.readiness().models().isEmpty()
                && replica.readiness().mayServe(model)) {
            membership.suspect(replica, model.name());
        }
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
        if (all.size() < 2) {
            return all.isEmpty() ? null : all.getFirst();
        }
        long now = resources.nanoTime().getAsLong();
        List<Replica> eligible = selection.of(all, call, model, tried, now, withRoom);
        return eligible.isEmpty() ? null : balancer.choose(eligible, call, now);
    }

    @Override
    public void close() {
        meters.close();
        outliers.close();
        if (registration != null) {
            registration.close();
        }
        membership.close();
    }
}

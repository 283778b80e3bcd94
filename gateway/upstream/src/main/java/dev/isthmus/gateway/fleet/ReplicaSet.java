package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The servers of a cluster, and the choice among them. Thread-safe. */
public final class ReplicaSet implements AutoCloseable {
    private final ReplicaMembership membership;
    private final ReplicaSelection selection;
    private final Balancer balancer;
    private final ClusterResources resources;
    private final List<DiscoveredServer> literalAddresses = new ArrayList<>();
    private final Discovery.@Nullable Registration registration;
    private final MembershipMeters meters;
    private final OutlierDetector outliers;

    private ReplicaSet(
            String upstream, ReplicaMembership membership, UpstreamConfig config, ClusterResources resources) {
        this.membership = membership;
        this.selection = new ReplicaSelection(config.outliers().panicThreshold(), resources.random());
        this.balancer = Balancer.of(config.balance().policy(), resources.random());
        this.resources = resources;
        List<ServerAddress> named = new ArrayList<>();
        for (ServerAddress address : config.endpoints()) {
            if (address instanceof ServerAddress.HostAddress at
                    && !at.endpoint().address().isUnresolved()) {
                literalAddresses.add(
                        new DiscoveredServer(at.endpoint(), at.endpoint().authority()));
            } else {
                named.add(address);
            }
        }
        membership.update(literalAddresses, false);
        registration = named.isEmpty() ? null : resources.discovery().watch(named, config.dnsRefresh(), this::found);
        outliers = new OutlierDetector(config.outliers().errorRate(), membership::replicas, resources);
        outliers.start();
        meters = new MembershipMeters(resources.meters(), upstream, membership, registration);
    }

    /**
     * A set whose servers are resolved, checked and measured until {@link #close()}.
     *
     * @param models the models checked on each server; read again for each round of checks, on the loop
     */
    public static ReplicaSet start(
            String upstream,
            UpstreamConfig config,
            ReplicaFactory factory,
            Supplier<Set<ModelRef>> models,
            ClusterResources resources) {
        ReplicaMembership membership = new ReplicaMembership(upstream, config, factory, models, resources);
        return new ReplicaSet(upstream, membership, config, resources);
    }

    /** Servers found by the first look-ups start at full share; later ones slow-start. */
    private void found(List<DiscoveredServer> servers) {
        Discovery.Registration watching = registration;
        List<DiscoveredServer> all = new ArrayList<>(literalAddresses);
        all.addAll(servers);
        membership.update(all, watching != null && watching.first().isDone());
    }

    /**
     * Completes when each host name among the endpoints has been resolved or has failed to resolve once; at once
     * without host names.
     */
    public CompletableFuture<Void> resolved() {
        return registration == null ? CompletableFuture.completedFuture(null) : registration.first();
    }

    /** Whether the gateway is shutting down. */
    BooleanSupplier ending() {
        return resources.ending();
    }

    List<Replica> all() {
        return membership.replicas();
    }

    /** The servers and their current state. */
    List<ReplicaStatus> members(String upstream) {
        long now = resources.nanoTime().getAsLong();
        return all().stream().map(replica -> member(upstream, replica, now)).toList();
    }

    private static ReplicaStatus member(String upstream, Replica replica, long now) {
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
     * Chooses a server for a call.
     *
     * @param tried servers to avoid if there is another
     * @return null if there is none because no name has been resolved yet
     */
    @Nullable
    Replica pick(Call call, ModelRef model, Collection<Replica> tried) {
        List<Replica> all = all();
        if (all.size() < 2) {
            return all.isEmpty() ? null : all.getFirst();
        }
        long now = resources.nanoTime().getAsLong();
        return balancer.choose(selection.of(all, call, model, tried, now), call, now);
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

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

/** The servers of a cluster, and the choice among them. Used by all event loops. */
public final class ReplicaSet implements AutoCloseable {
    private final ReplicaMembership membership;
    private final ReplicaSelection candidates;
    private final Balancer balancer;
    private final ClusterResources around;
    private final List<DiscoveredServer> literal = new ArrayList<>();
    private final Discovery.@Nullable Registration names;

    private ReplicaSet(ReplicaMembership membership, UpstreamConfig config, ClusterResources around) {
        this.membership = membership;
        this.candidates = new ReplicaSelection(config.outliers().panicThreshold(), around.random());
        this.balancer = Balancer.of(config.balance().policy(), around.random());
        this.around = around;
        List<ServerAddress> named = new ArrayList<>();
        for (ServerAddress address : config.endpoints()) {
            if (address instanceof ServerAddress.HostAddress at
                    && !at.endpoint().address().isUnresolved()) {
                literal.add(new DiscoveredServer(at.endpoint(), at.endpoint().authority()));
            } else {
                named.add(address);
            }
        }
        membership.update(literal, false);
        names = named.isEmpty() ? null : around.discovery().watch(named, config.dnsRefresh(), this::found);
    }

    /**
     * A set whose servers are looked up, asked how they are and measured from now on, until {@link #close()}.
     *
     * @param models those that are asked for on each server; asked again for each round of checks, on the loop
     */
    public static ReplicaSet start(
            String upstream,
            UpstreamConfig config,
            ReplicaFactory opening,
            Supplier<Set<ModelRef>> models,
            ClusterResources around) {
        return new ReplicaSet(new ReplicaMembership(upstream, config, opening, models, around), config, around);
    }

    /** Servers that join while the first look-ups are under way belong to the start, and start at full share. */
    private void found(List<DiscoveredServer> servers) {
        Discovery.Registration watch = names;
        List<DiscoveredServer> all = new ArrayList<>(literal);
        all.addAll(servers);
        membership.update(all, watch != null && watch.first().isDone());
    }

    /** Ends when the names among the endpoints were looked up once, with success or without; at once without names. */
    public CompletableFuture<Void> lookedUp() {
        return names == null ? CompletableFuture.completedFuture(null) : names.first();
    }

    /** Whether the gateway is being stopped. */
    BooleanSupplier ending() {
        return around.ending();
    }

    List<Replica> all() {
        return membership.replicas();
    }

    /** The servers as others see them now. */
    List<ReplicaStatus> members(String upstream) {
        long now = around.nanoTime().getAsLong();
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
     * The server for a call.
     *
     * @param tried those that the call was sent to already, which are passed over as long as there is another
     * @return null where there is none: the names were not found yet
     */
    @Nullable
    Replica pick(Call call, ModelRef model, Collection<Replica> tried) {
        List<Replica> all = all();
        if (all.size() < 2) {
            return all.isEmpty() ? null : all.getFirst();
        }
        long now = around.nanoTime().getAsLong();
        return balancer.choose(candidates.of(all, call, model, tried, now), call, now);
    }

    @Override
    public void close() {
        if (names != null) {
            names.close();
        }
        membership.close();
    }
}

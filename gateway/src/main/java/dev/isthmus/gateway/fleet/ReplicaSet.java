package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ModelRef;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The servers of a cluster, and the choice among them. Used by all event loops. */
final class ReplicaSet implements AutoCloseable {
    private final List<Replica> replicas;
    private final AtomicInteger next = new AtomicInteger();

    ReplicaSet(List<Replica> replicas) {
        this.replicas = List.copyOf(replicas);
    }

    List<Replica> all() {
        return replicas;
    }

    /**
     * The server for a call.
     *
     * @param tried those that the call was sent to already, which are passed over as long as there is another
     * @return null where there is none
     */
    @Nullable
    Replica pick(Call call, ModelRef model, Collection<Replica> tried) {
        int size = replicas.size();
        for (int i = 0; i < size; i++) {
            Replica replica = replicas.get(Math.floorMod(next.getAndIncrement(), size));
            if (!tried.contains(replica)) {
                return replica;
            }
        }
        return size == 0 ? null : replicas.get(Math.floorMod(next.getAndIncrement(), size));
    }

    @Override
    public void close() {
        replicas.forEach(replica -> replica.server().close());
    }
}

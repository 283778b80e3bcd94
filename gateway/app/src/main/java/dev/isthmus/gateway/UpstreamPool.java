package dev.isthmus.gateway;

import dev.isthmus.gateway.upstream.Upstream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The upstreams of all generations. Those that are made in the same way are one, so that connections and all that is known
 * of the servers outlive a reload; one is closed when nobody holds it any more. May be used by any thread but an event loop.
 */
final class UpstreamPool implements AutoCloseable {
    private final Map<Object, LeasedUpstream> byKey = new HashMap<>();

    /** One upstream and the number of its leases. */
    private static final class LeasedUpstream {
        private final Upstream upstream;
        private int leases;

        LeasedUpstream(Upstream upstream) {
            this.upstream = upstream;
        }
    }

    /** The right to use an upstream until {@link #close()}, which may be called more than once. */
    final class Lease implements AutoCloseable {
        private final Object key;
        private final LeasedUpstream held;
        private boolean over;

        private Lease(Object key, LeasedUpstream held) {
            this.key = key;
            this.held = held;
        }

        Upstream upstream() {
            return held.upstream;
        }

        @Override
        public void close() {
            boolean last;
            synchronized (UpstreamPool.this) {
                last = !over && --held.leases == 0 && byKey.remove(key, held);
                over = true;
            }
            if (last) {
                held.upstream.close();
            }
        }
    }

    /**
     * The upstream that is made so.
     *
     * @param key all that its making depends on
     */
    synchronized Lease lease(Object key, Supplier<Upstream> making) {
        LeasedUpstream held = byKey.get(key);
        if (held == null) {
            held = new LeasedUpstream(making.get());
            byKey.put(key, held);
        }
        held.leases++;
        return new Lease(key, held);
    }

    /** Closes all of them, whoever holds them. */
    @Override
    public void close() {
        List<LeasedUpstream> all;
        synchronized (this) {
            all = new ArrayList<>(byKey.values());
            byKey.clear();
        }
        all.forEach(held -> held.upstream.close());
    }
}

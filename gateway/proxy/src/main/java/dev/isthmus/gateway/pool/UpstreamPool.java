package dev.isthmus.gateway.pool;

import dev.isthmus.gateway.upstream.Upstream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The upstreams of all generations. Equally configured upstreams are shared, so that connections and the state of
 * servers survive a reload; an upstream is closed with its last lease. Thread-safe; not for event loops, since it may
 * block.
 */
public final class UpstreamPool implements AutoCloseable {
    private final Map<Object, LeasedUpstream> byKey = new HashMap<>();

    /** A lease of an upstream until {@link #close()}, which is idempotent. */
    private static final class LeasedUpstream {
        private final Upstream upstream;
        /** The oldest first. */
        private final List<Lease> leases = new ArrayList<>();

        LeasedUpstream(Upstream upstream) {
            this.upstream = upstream;
        }
    }

    /** The right to use an upstream until {@link #close()}, which may be called more than once. */
    final class Lease implements AutoCloseable {
        private final Object key;
        private final LeasedUpstream leased;
        private final Consumer<Upstream> settings;

        private Lease(Object key, LeasedUpstream leased, Consumer<Upstream> settings) {
            this.key = key;
            this.leased = leased;
            this.settings = settings;
        }

        Upstream upstream() {
            return leased.upstream;
        }

        @Override
        public void close() {
            boolean last;
            synchronized (UpstreamPool.this) {
                boolean newest = !leased.leases.isEmpty() && leased.leases.getLast() == this;
                last = leased.leases.remove(this) && leased.leases.isEmpty();
                if (last) {
                    byKey.remove(key, leased);
                }
                if (newest && !leased.leases.isEmpty()) {
                    leased.leases.getLast().settings.accept(leased.upstream);
                }
            }
            if (last) {
                leased.upstream.close();
            }
        }
    }

    /** Leases the upstream with this key, of which nothing can be changed later. */
    Lease lease(Object key, Supplier<Upstream> factory) {
        return lease(key, factory, existing -> true, existing -> {});
    }

    /**
     * Leases the upstream with this key, and creates it if there is none, or none that suits.
     *
     * @param key everything that its construction depends on
     * @param suits whether an existing one may get the settings
     * @param settings applies what can be changed later; those of the newest lease hold
     */
    synchronized Lease lease(
            Object key, Supplier<Upstream> factory, Predicate<Upstream> suits, Consumer<Upstream> settings) {
        LeasedUpstream leased = byKey.get(key);
        if (leased == null || !suits.test(leased.upstream)) {
            leased = new LeasedUpstream(factory.get());
            byKey.put(key, leased);
        }
        Lease lease = new Lease(key, leased, settings);
        leased.leases.add(lease);
        settings.accept(leased.upstream);
        return lease;
    }

    /** Closes all upstreams, regardless of their leases; one that another has replaced is closed with its last lease. */
    @Override
    public void close() {
        List<LeasedUpstream> all;
        synchronized (this) {
            all = new ArrayList<>(byKey.values());
            all.forEach(leased -> leased.leases.clear());
            byKey.clear();
        }
        all.forEach(leased -> leased.upstream.close());
    }
}

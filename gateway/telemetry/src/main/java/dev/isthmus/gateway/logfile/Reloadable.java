package dev.isthmus.gateway.logfile;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Something with a thread of its own that a configuration makes and a reload replaces: a log, or an export. There is
 * none until it is configured. Thread-safe.
 *
 * @param <C> its settings
 */
public abstract class Reloadable<C, T extends Reloadable.Replaced> implements AutoCloseable {
    private final boolean overlaps;
    // Guarded by this.
    private @Nullable C settings;
    private volatile @Nullable T current;

    /** What is replaced. */
    public interface Replaced extends AutoCloseable {
        /** Writes what is left, for at most five seconds; drops what comes later. Idempotent. */
        @Override
        void close();
    }

    /** @param overlaps whether the next one may start before the previous one has ended: not if they have one file */
    protected Reloadable(boolean overlaps) {
        this.overlaps = overlaps;
    }

    /** Starts one. */
    protected abstract T started(C config);

    /** The one that is in use; null if none is configured. */
    protected final @Nullable T current() {
        return current;
    }

    /** Changes the configuration, which holds from here on; null for none. Blocks while the previous one ends. */
    public final synchronized void configure(@Nullable C config) {
        T before = current;
        if (Objects.equals(before == null ? null : settings, config)) {
            return;
        }
        if (before != null && !overlaps) {
            current = null;
            before.close();
        }
        current = config == null ? null : started(config);
        settings = config;
        if (before != null && overlaps) {
            before.close();
        }
    }

    /** Ends it. */
    @Override
    public final void close() {
        configure(null);
    }
}

package dev.isthmus.gateway.logfile;

import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Something with a thread of its own that a configuration makes and a reload replaces: a log, or an export. There is
 * none until it is configured. Thread-safe.
 *
 * @param <C> its settings
 */
public class Reloadable<C, T extends Reloadable.Replaced> implements AutoCloseable {
    private final boolean overlaps;
    private final Function<C, T> start;
    // Guarded by this.
    private @Nullable C settings;
    private volatile @Nullable T current;

    public interface Replaced extends AutoCloseable {
        /** Writes what is left, for at most five seconds; drops what comes later. Idempotent. */
        @Override
        void close();
    }

    /**
     * There is none yet.
     *
     * @param overlaps whether the next one may start before the previous one has ended: not if they have one file
     * @param start starts one
     */
    public Reloadable(boolean overlaps, Function<C, T> start) {
        this.overlaps = overlaps;
        this.start = start;
    }

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
        current = config == null ? null : start.apply(config);
        settings = config;
        if (before != null && overlaps) {
            before.close();
        }
    }

    @Override
    public final void close() {
        configure(null);
    }
}

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
    private final Function<C, T> make;
    // Guarded by this.
    private @Nullable C settings;
    private volatile @Nullable T current;

    public interface Replaced {
        /** Its thread, which is started when the previous one has ended: both may have one file. */
        BackgroundWriter writer();
    }

    /**
     * There is none yet.
     *
     * @param make makes one, whose thread does not run yet
     */
    public Reloadable(Function<C, T> make) {
        this.make = make;
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
        T next = config == null ? null : make.apply(config);
        // It keeps what comes while the previous one ends.
        current = next;
        settings = config;
        if (before != null) {
            before.writer().close();
        }
        if (next != null) {
            next.writer().start();
        }
    }

    @Override
    public final void close() {
        configure(null);
    }
}

package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.WatchedFiles;
import io.netty.util.IllegalReferenceCountException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Contexts made from files, replaced when the files change; open connections keep theirs. {@link #acquire} is for any
 * thread, the rest blocks.
 */
abstract class TlsContexts implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TlsContexts.class);

    private final String owner;
    private final WatchedFiles files;
    private final TlsRegistry registry;
    private final Supplier<ContextSet> load;
    private volatile ContextSet current;
    private volatile boolean closed;
    // Guarded by this.
    private @Nullable ReplaceableMeters gauges;

    /**
     * @param owner what the contexts are for, in logs: {@code listener 0.0.0.0:8443}
     * @param load makes contexts of the files as they are now
     * @throws TlsFileException if they cannot be used
     */
    TlsContexts(String owner, WatchedFiles files, TlsRegistry registry, Supplier<ContextSet> load) {
        this.owner = owner;
        this.files = files;
        this.registry = registry;
        this.load = load;
        files.loading();
        this.current = load.get();
    }

    /** The contexts of the files as last read, which the caller releases. */
    final ContextSet acquire() {
        while (true) {
            ContextSet now = current;
            try {
                now.retain();
                return now;
            } catch (IllegalReferenceCountException replaced) {
                if (closed) {
                    throw new IllegalStateException(owner + " is closed", replaced);
                }
            }
        }
    }

    /**
     * Reads the files again if two consecutive checks found the same content, other than the one last read, or at once
     * if {@code now}.
     */
    final synchronized void check(boolean now) {
        if (!closed && (now ? files.differ() : files.check() == WatchedFiles.FileChange.CHANGED)) {
            files.loading();
            reload();
        }
    }

    private void reload() {
        ContextSet previous = current;
        try {
            current = load.get();
        } catch (TlsFileException e) {
            registry.meters().reloaded(false);
            LOG.error(
                    "{}: the changed certificates are not used, the previous ones stay; correct the files: {}",
                    owner,
                    e.getMessage());
            return;
        }
        previous.release();
        registry.meters().reloaded(true);
        LOG.info("{}: the certificates were read again", owner);
        show();
    }

    /** Shows when the certificates expire, and warns of those that are not valid. */
    final synchronized void show() {
        hide();
        gauges = registry.meters().show(current.expiries());
        current.expiries().forEach(each -> each.warn(owner));
    }

    private void hide() {
        if (gauges != null) {
            gauges.close();
            gauges = null;
        }
    }

    /** Stops watching; connections that use the contexts continue. */
    @Override
    public synchronized void close() {
        registry.watched().remove(this);
        if (!closed) {
            closed = true;
            hide();
            current.release();
        }
    }
}

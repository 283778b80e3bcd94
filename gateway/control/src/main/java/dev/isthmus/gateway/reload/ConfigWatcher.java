package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads a configuration when its file changes and on request, on a thread of its own. The file is read five times a
 * second, which detects any kind of replacement on any file system; new content counts when two reads agree.
 */
public final class ConfigWatcher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConfigWatcher.class);
    private static final long POLL_MILLIS = 200;

    private final ConfigFile file;
    private final Consumer<String> reload;
    private final boolean polling;
    private final Thread thread;
    /** A permit for each request, and for the end. */
    private final Semaphore woken = new Semaphore(0);

    private volatile boolean closed;

    private ConfigWatcher(ConfigFile file, Consumer<String> reload, boolean polling) {
        this.file = file;
        this.reload = reload;
        this.polling = polling;
        this.thread = new Thread(this::run, "isthmus-config");
        thread.setDaemon(true);
    }

    /**
     * Starts watching.
     *
     * @param reload loads and applies the file, given why; handles failures itself
     * @param polling whether the file is watched; otherwise it is loaded only on request
     */
    public static ConfigWatcher start(ConfigFile file, Consumer<String> reload, boolean polling) {
        ConfigWatcher watch = new ConfigWatcher(file, reload, polling);
        watch.thread.start();
        return watch;
    }

    /** Requests a reload, whether or not the file has changed; several requests may share one. Does not block. */
    public void requestReload() {
        woken.release();
    }

    private void run() {
        try {
            while (!closed) {
                boolean asked = woken.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS);
                asked |= woken.drainPermits() > 0;
                if (!closed && (asked || (polling && file.check() == FileChange.CHANGED))) {
                    reload(asked ? "SIGHUP" : "a changed file");
                }
            }
        } catch (InterruptedException e) {
            // The thread is interrupted only to stop it.
            return;
        }
    }

    private void reload(String cause) {
        try {
            reload.accept(cause);
        } catch (RuntimeException | Error fault) {
            LOG.error(
                    "internal error in a reload; the previous configuration stays in effect; please report it", fault);
        }
    }

    /** Stops watching; a reload in progress continues. */
    @Override
    public void close() {
        closed = true;
        woken.release();
    }
}

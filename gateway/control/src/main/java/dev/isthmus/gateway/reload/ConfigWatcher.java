package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads a configuration when its file changes and on request, on a thread of its own. The file is read when its folder
 * has an event, and twice a second, which detects any kind of replacement on any file system.
 */
public final class ConfigWatcher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConfigWatcher.class);
    private static final long POLL_MILLIS = 500;
    private static final long SETTLE_MILLIS = 100;

    private final ConfigFile file;
    private final Consumer<String> reload;
    private final @Nullable FolderEvents events;
    private final Thread thread;
    /** A permit for each event, for each request, and for the end. */
    private final Semaphore woken = new Semaphore(0);

    private volatile boolean requested;
    private volatile boolean closed;

    private ConfigWatcher(ConfigFile file, Consumer<String> reload, boolean polling) {
        this.file = file;
        this.reload = reload;
        this.events = polling ? new FolderEvents(woken::release) : null;
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
        requested = true;
        woken.release();
    }

    private void run() {
        FileChange change = FileChange.SAME;
        long checked = System.nanoTime();
        try {
            while (!closed) {
                if (events != null) {
                    events.watch(file.files());
                }
                await(change, checked);
                boolean asked = requested;
                requested = false;
                checked = System.nanoTime();
                change = events != null && !asked ? file.check() : FileChange.SAME;
                if (!closed && (asked || change == FileChange.CHANGED)) {
                    reload(asked ? "SIGHUP" : "a changed file");
                }
            }
        } catch (InterruptedException e) {
            // The thread is interrupted only to stop it.
            return;
        }
    }

    /** Waits for the time of the next check, an event or a request. Checks have a pause between them, so that a file that is being written has settled. */
    private void await(FileChange change, long checked) throws InterruptedException {
        if (change != FileChange.UNSETTLED) {
            woken.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS);
        }
        long pause = checked + TimeUnit.MILLISECONDS.toNanos(SETTLE_MILLIS) - System.nanoTime();
        while (pause > 0 && !requested && !closed) {
            TimeUnit.NANOSECONDS.sleep(pause);
            pause = checked + TimeUnit.MILLISECONDS.toNanos(SETTLE_MILLIS) - System.nanoTime();
        }
        woken.drainPermits();
    }

    private void reload(String cause) {
        try {
            reload.accept(cause);
        } catch (RuntimeException fault) {
            LOG.error(
                    "internal error in a reload; the previous configuration stays in effect; please report it", fault);
        }
    }

    /** Stops watching; a reload in progress continues. */
    @Override
    public void close() {
        closed = true;
        woken.release();
        if (events != null) {
            events.close();
        }
    }
}

package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads a configuration when its file changes and on request, on a thread of its own. The file is polled twice a
 * second, which detects any kind of replacement on any file system.
 */
public final class ConfigWatcher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConfigWatcher.class);
    private static final long POLL_MILLIS = 500;
    private static final long SETTLE_MILLIS = 100;

    private final ConfigFile file;
    private final Runnable reload;
    private final boolean polling;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition woken = lock.newCondition();
    private boolean requested;
    private boolean closed;

    private ConfigWatcher(ConfigFile file, Runnable reload, boolean polling) {
        this.file = file;
        this.reload = reload;
        this.polling = polling;
        this.thread = new Thread(this::run, "isthmus-config");
        thread.setDaemon(true);
    }

    /**
     * Starts watching.
     *
     * @param reload loads and applies the file; handles failures itself
     * @param polling whether the file is polled; otherwise it is loaded only on request
     */
    public static ConfigWatcher start(ConfigFile file, Runnable reload, boolean polling) {
        ConfigWatcher watch = new ConfigWatcher(file, reload, polling);
        watch.thread.start();
        return watch;
    }

    /** Requests a reload, whether or not the file has changed; several requests may share one. Does not block. */
    public void requestReload() {
        lock.lock();
        try {
            requested = true;
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        FileChange change = FileChange.SAME;
        try {
            while (true) {
                WakeReason reason = await(change);
                if (reason == WakeReason.CLOSED) {
                    return;
                }
                change = polling && reason == WakeReason.TIME ? file.check() : FileChange.SAME;
                if (reason == WakeReason.ASKED || change == FileChange.CHANGED) {
                    reload();
                }
            }
        } catch (InterruptedException e) {
            // The thread is interrupted only to stop it.
            return;
        }
    }

    private void reload() {
        try {
            reload.run();
        } catch (RuntimeException fault) {
            LOG.error(
                    "internal error in a reload; the previous configuration stays in effect; please report it", fault);
        }
    }

    /** Why a wait ended. */
    private enum WakeReason {
        TIME,
        ASKED,
        CLOSED
    }

    private WakeReason await(FileChange last) throws InterruptedException {
        long nanos = TimeUnit.MILLISECONDS.toNanos(last == FileChange.UNSETTLED ? SETTLE_MILLIS : POLL_MILLIS);
        lock.lock();
        try {
            while (!requested && !closed && nanos > 0) {
                nanos = woken.awaitNanos(nanos);
            }
            WakeReason reason = closed ? WakeReason.CLOSED : requested ? WakeReason.ASKED : WakeReason.TIME;
            requested = false;
            return reason;
        } finally {
            lock.unlock();
        }
    }

    /** Stops watching; a reload in progress continues. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }
}

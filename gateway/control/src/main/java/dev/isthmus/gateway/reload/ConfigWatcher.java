package dev.isthmus.gateway.reload;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has a configuration loaded again when its file changes and when someone asks for it, on a thread of its own. The file is
 * read twice a second: whatever way it is replaced in, on whatever file system, is seen.
 */
public final class ConfigWatcher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConfigWatcher.class);
    private static final long PERIOD_MILLIS = 500;
    private static final long SETTLING_MILLIS = 100;

    private final ConfigFile file;
    private final Runnable reload;
    private final boolean polling;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition woken = lock.newCondition();
    private boolean asked;
    private boolean closed;

    private ConfigWatcher(ConfigFile file, Runnable reload, boolean polling) {
        this.file = file;
        this.reload = reload;
        this.polling = polling;
        this.thread = new Thread(this::run, "isthmus-config");
        thread.setDaemon(true);
    }

    /**
     * Begins to watch.
     *
     * @param reload loads the file and does what is to be done with it; deals with failures itself
     * @param polling whether the file is looked at; otherwise it is loaded only when asked for
     */
    public static ConfigWatcher start(ConfigFile file, Runnable reload, boolean polling) {
        ConfigWatcher watch = new ConfigWatcher(file, reload, polling);
        watch.thread.start();
        return watch;
    }

    /** Has it loaded soon, whether it has changed or not; several such wishes may be one. Does not wait. */
    public void ask() {
        lock.lock();
        try {
            asked = true;
            woken.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        ConfigFile.FileChange look = ConfigFile.FileChange.SAME;
        try {
            while (true) {
                WakeReason wake = await(look);
                if (wake == WakeReason.CLOSED) {
                    return;
                }
                look = polling && wake == WakeReason.TIME ? file.look() : ConfigFile.FileChange.SAME;
                if (wake == WakeReason.ASKED || look == ConfigFile.FileChange.CHANGED) {
                    reload();
                }
            }
        } catch (InterruptedException e) {
            // Nobody interrupts this thread but to end it.
            return;
        }
    }

    private void reload() {
        try {
            reload.run();
        } catch (RuntimeException fault) {
            LOG.error("reload", fault);
        }
    }

    /** Why a wait is over. */
    private enum WakeReason {
        TIME,
        ASKED,
        CLOSED
    }

    private WakeReason await(ConfigFile.FileChange last) throws InterruptedException {
        long nanos = TimeUnit.MILLISECONDS.toNanos(
                last == ConfigFile.FileChange.UNSETTLED ? SETTLING_MILLIS : PERIOD_MILLIS);
        lock.lock();
        try {
            while (!asked && !closed && nanos > 0) {
                nanos = woken.awaitNanos(nanos);
            }
            WakeReason wake = closed ? WakeReason.CLOSED : asked ? WakeReason.ASKED : WakeReason.TIME;
            asked = false;
            return wake;
        } finally {
            lock.unlock();
        }
    }

    /** Ends; a load under way goes on. */
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

package dev.isthmus.local;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thread for what may block, one task after the other, with a bounded queue. */
final class BackgroundThread implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BackgroundThread.class);
    private static final long PATIENCE_SECONDS = 30;
    private static final long IDLE_SECONDS = 60;

    private final ThreadPoolExecutor thread;
    private final String name;

    /** @param most tasks that wait; more are refused */
    BackgroundThread(String name, int most) {
        this.name = name;
        this.thread =
                new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new ArrayBlockingQueue<>(most), task -> {
                    Thread made = new Thread(task, "isthmus-local-" + name);
                    made.setDaemon(true);
                    return made;
                });
        thread.allowCoreThreadTimeOut(true);
    }

    private record Task<T>(Supplier<T> work, LocalBackend.Outcome<T> outcome) implements Runnable {

        @Override
        public void run() {
            T value;
            try {
                value = work.get();
            } catch (OipException e) {
                outcome.failed(e);
                return;
            } catch (RuntimeException | LinkageError fault) {
                LOG.error("a task of the local backend", fault);
                outcome.failed(new OipException(ErrorCode.INTERNAL, "internal error", fault));
                return;
            }
            outcome.done(value);
        }

        void refused(OipException failure) {
            outcome.failed(failure);
        }
    }

    /** Tells the outcome on this thread, or at once when there is no room. */
    <T> void run(Supplier<T> work, LocalBackend.Outcome<T> outcome) {
        Task<T> task = new Task<>(work, outcome);
        try {
            thread.execute(task);
        } catch (RejectedExecutionException e) {
            task.refused(new OipException(
                    ErrorCode.UNAVAILABLE,
                    "local backend: too much waits for its thread '" + name + "', or it is closed",
                    e));
        }
    }

    /** Waits for what is under way; what waits is told that it is too late. */
    @Override
    public void close() {
        for (Runnable waiting : thread.shutdownNow()) {
            if (waiting instanceof Task<?> task) {
                task.refused(new OipException(ErrorCode.UNAVAILABLE, "the local backend is being closed"));
            }
        }
        try {
            if (!thread.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("the local backend's thread '{}' goes on after {} s", name, PATIENCE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

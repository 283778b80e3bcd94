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

/** A thread for blocking tasks, run one after the other, with a bounded queue. */
final class BackgroundThread implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BackgroundThread.class);
    private static final long CLOSE_TIMEOUT_SECONDS = 30;
    private static final long IDLE_SECONDS = 60;

    private final ThreadPoolExecutor thread;
    private final String name;

    /** @param queueSize the maximum number of queued tasks; more are rejected */
    BackgroundThread(String name, int queueSize) {
        this.name = name;
        this.thread = new ThreadPoolExecutor(
                1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queueSize), task -> {
                    Thread worker = new Thread(task, "isthmus-local-" + name);
                    worker.setDaemon(true);
                    return worker;
                });
        thread.allowCoreThreadTimeOut(true);
    }

    /** Runs a task; the outcome is called on this thread, or by the caller if the queue is full or closed. */
    <T> void run(Supplier<T> work, LocalBackend.Outcome<T> outcome) {
        BackgroundTask<T> task = new BackgroundTask<>(work, outcome);
        try {
            thread.execute(task);
        } catch (RejectedExecutionException e) {
            task.refused("local backend: the queue of its thread '" + name + "' is full, or it is closed");
        }
    }

    /** Waits for the running task; queued tasks fail with UNAVAILABLE. */
    @Override
    public void close() {
        for (Runnable waiting : thread.shutdownNow()) {
            if (waiting instanceof BackgroundTask<?> task) {
                task.refused("the local backend is closing");
            }
        }
        try {
            if (!thread.awaitTermination(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("the local backend's thread '{}' is still running after {} s", name, CLOSE_TIMEOUT_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Blocking work with its outcome. */
    record BackgroundTask<T>(Supplier<T> work, LocalBackend.Outcome<T> outcome) implements Runnable {
        private static final Logger LOG = LoggerFactory.getLogger(BackgroundTask.class);

        @Override
        public void run() {
            T value;
            try {
                value = work.get();
            } catch (OipException e) {
                outcome.failed(e);
                return;
            } catch (Throwable fault) {
                LOG.error("internal error in a task of the local backend; please report it", fault);
                outcome.failed(new OipException(ErrorCode.INTERNAL, "internal error", fault));
                return;
            }
            outcome.done(value);
        }

        /** Ends it without running it. */
        void refused(String why) {
            outcome.failed(new OipException(ErrorCode.UNAVAILABLE, why));
        }
    }
}

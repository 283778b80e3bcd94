package dev.isthmus.local;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads that run models, and the bounded queue before them. */
final class LocalExecutor implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 30;

    private final ThreadPoolExecutor threads;
    private final int queueSize;

    LocalExecutor(int threads, int queueSize) {
        this.queueSize = queueSize;
        AtomicInteger number = new AtomicInteger();
        this.threads = new ThreadPoolExecutor(
                threads, threads, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queueSize), task -> {
                    Thread thread = new Thread(task, "isthmus-local-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /** @throws OipException UNAVAILABLE when the queue is full or closed */
    void execute(Runnable run) {
        try {
            threads.execute(run);
        } catch (RejectedExecutionException e) {
            throw new OipException(
                    ErrorCode.UNAVAILABLE, "local backend: its queue of " + queueSize + " requests is full", e);
        }
    }

    /** Lets what is queued finish. */
    @Override
    public void close() {
        threads.shutdown();
        try {
            if (!threads.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                threads.shutdownNow();
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }
}

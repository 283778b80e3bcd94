package dev.isthmus.gateway.shadow;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The single thread that compares responses, to keep comparisons off the event loops. */
final class ResponseComparer implements AutoCloseable {
    private static final long CLOSE_TIMEOUT_SECONDS = 5;

    private final ThreadPoolExecutor executor;

    ResponseComparer(int queued) {
        executor = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queued), task -> {
            Thread thread = new Thread(task, "isthmus-compare");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Queues a comparison (taken); drops it if the queue is full or this is closed. */
    void take(ResponsePair pair) {
        try {
            executor.execute(pair);
        } catch (RejectedExecutionException full) {
            pair.drop();
        }
    }

    /** Waits for the comparison in progress and drops the queued ones. */
    @Override
    public void close() {
        for (Runnable waiting : executor.shutdownNow()) {
            ((ResponsePair) waiting).drop();
        }
        try {
            executor.awaitTermination(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

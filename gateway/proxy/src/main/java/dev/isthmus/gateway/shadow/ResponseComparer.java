package dev.isthmus.gateway.shadow;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The one thread that compares answers, so that no event loop does. */
final class ResponseComparer implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 5;

    private final ThreadPoolExecutor executor;

    ResponseComparer(int queued) {
        executor = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queued), task -> {
            Thread thread = new Thread(task, "isthmus-compare");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Takes two answers; drops them where it has too many or is closed. */
    void take(ResponsePair pair) {
        try {
            executor.execute(pair);
        } catch (RejectedExecutionException full) {
            pair.drop();
        }
    }

    /** Ends after the comparison under way; those that wait are dropped. */
    @Override
    public void close() {
        for (Runnable waiting : executor.shutdownNow()) {
            ((ResponsePair) waiting).drop();
        }
        try {
            executor.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

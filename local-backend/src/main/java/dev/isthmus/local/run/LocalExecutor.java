package dev.isthmus.local.run;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads that run models, and the bounded queue before them. */
public final class LocalExecutor implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 30;

    private final ThreadPoolExecutor threads;
    private final int queueSize;

    public LocalExecutor(int threads, int queueSize) {
        this.queueSize = queueSize;
        AtomicInteger number = new AtomicInteger();
        this.threads = new ThreadPoolExecutor(
                threads, threads, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queueSize), task -> {
                    Thread thread = new Thread(task, "isthmus-local-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /**
     * Runs a model.
     *
     * @param model one use of it is taken, and given back at the end
     * @param request taken
     */
    public LocalBackend.Cancellable submit(
            OnnxModel model,
            InferRequest request,
            long deadlineNanos,
            ByteBufAllocator allocator,
            LocalBackend.Callback callback) {
        LocalRun run = new LocalRun(model, request, deadlineNanos, allocator, callback);
        try {
            model.require(request);
            execute(run);
            return run;
        } catch (OipException failure) {
            run.end();
            callback.failed(failure);
            return () -> {};
        }
    }

    /** @throws OipException UNAVAILABLE when the queue is full or closed */
    private void execute(Runnable run) {
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

package dev.isthmus.local.run;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads that run models, and the bounded queue before them. A request waits until a thread and a permit of its model
 * are free; its deadline and its client end it wherever it is. Thread-safe.
 */
public final class LocalExecutor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalExecutor.class);
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Deadlines deadlines = new Deadlines();
    private final RunQueues queues;
    private final Duration patience;
    private final List<Worker> workers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    /**
     * @param threads that run models
     * @param queueSize requests that wait while all threads are busy; more are refused
     */
    public LocalExecutor(int threads, int queueSize) {
        this(threads, queueSize, PATIENCE);
    }

    /** @param patience how long {@link #close()} waits for runs to end, and once more after it has told them to */
    LocalExecutor(int threads, int queueSize, Duration patience) {
        this.queues = new RunQueues(queueSize, threads, deadlines);
        this.patience = patience;
        start("isthmus-local-timer", deadlines);
        for (int i = 1; i <= threads; i++) {
            Worker worker = new Worker(queues);
            workers.add(worker);
            this.threads.add(start("isthmus-local-" + i, worker));
        }
    }

    private static Thread start(String name, Runnable work) {
        // Netty's pools give memory back to threads of its own kind only.
        Thread thread = new FastThreadLocalThread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Learns of a model that is loaded: says at once what its settings ask for in vain. */
    public void prepare(OnnxModel model) {
        queues.of(model);
    }

    /**
     * Runs a model.
     *
     * @param model one use of it is taken, and given back at the end
     * @param request taken; is checked against the model here
     * @param deadlineNanos on the scale of {@link System#nanoTime()}, {@link Long#MAX_VALUE} for none
     * @param allocator of the answer, and of what is gathered for the run
     * @param callback is called exactly once, on whatever thread, with the answer or INVALID_ARGUMENT, OVERLOADED (with the
     *     time after which to ask again), DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE or what the run failed with
     */
    public Cancellable submit(
            OnnxModel model,
            InferRequest request,
            long deadlineNanos,
            ByteBufAllocator allocator,
            InferCallback callback) {
        LocalRun run;
        try {
            RunRequest order = new RunRequest(request, deadlineNanos, allocator, callback, System.nanoTime());
            ModelQueue queue = queues.of(model);
            model.require(request);
            requireTime(queue, order);
            run = new LocalRun(queue, order);
            queues.add(queue, run);
        } catch (OipException refusal) {
            request.release();
            model.release();
            callback.failed(refusal);
            return () -> {};
        }
        run.arm();
        return run;
    }

    private static void requireTime(ModelQueue queue, RunRequest order) {
        if (order.late(order.since())) {
            throw new OipException(
                    ErrorCode.DEADLINE_EXCEEDED, queue.name() + ": the deadline passed before the request was queued");
        }
    }

    /**
     * Takes no more requests, fails those that are queued, and waits for those that run: first for their end, then, after
     * telling them to, for that. A run that does not end even then keeps its model until it does. Blocks.
     */
    @Override
    public void close() {
        for (LocalRun run : queues.close()) {
            run.fail(RunQueues.closing());
            run.giveBack();
        }
        if (!ended()) {
            workers.forEach(Worker::abandon);
            if (!ended()) {
                LOG.warn("the local backend closes while a run goes on: its model does not end when told to");
            }
        }
        deadlines.close();
    }

    /** Waits for the threads as long as patience lasts. */
    private boolean ended() {
        long begun = System.nanoTime();
        try {
            for (Thread thread : threads) {
                long left = patience.toNanos() - (System.nanoTime() - begun);
                if (!thread.join(Duration.ofNanos(Math.max(left, 1)))) {
                    return false;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
        return true;
    }
}

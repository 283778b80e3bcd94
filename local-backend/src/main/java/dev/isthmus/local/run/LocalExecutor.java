package dev.isthmus.local.run;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads that run models, and their bounded queue. A request waits until a thread and a permit of its model are
 * free; its deadline, its client or the unloading of its model can end it at any time. Thread-safe.
 */
public final class LocalExecutor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalExecutor.class);
    private static final Duration GRACE = Duration.ofSeconds(10);
    private static final Duration STUCK = Duration.ofSeconds(5);
    private static final String SEQUENCE = "sequence_id";
    private static final Set<Parameter> NO_SEQUENCE = Set.of(new Parameter.Int64(0), new Parameter.Text(""));

    private final Deadlines deadlines = new Deadlines();
    private final RunQueues queues;
    private final Duration grace;
    private final Duration stuckAfter;
    private final List<Worker> workers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    /**
     * @param threads the number of threads that run models; one more runs other models while one model has them all
     * @param queueSize the maximum number of requests queued while all threads are busy; more are rejected
     */
    public LocalExecutor(int threads, int queueSize) {
        this(threads, queueSize, GRACE, STUCK);
    }

    /**
     * @param grace how long runs of an unloaded model may go on; how long {@link #close()} waits for active runs, and
     *     again after it has terminated them
     * @param stuckAfter when a run that goes on after it was terminated is stuck
     */
    LocalExecutor(int threads, int queueSize, Duration grace, Duration stuckAfter) {
        this.queues = new RunQueues(queueSize, threads, deadlines);
        this.grace = grace;
        this.stuckAfter = stuckAfter;
        start("isthmus-local-timer", deadlines);
        for (int i = 1; i <= threads + 1; i++) {
            Worker worker = new Worker(queues);
            workers.add(worker);
            this.threads.add(start("isthmus-local-" + i, worker));
        }
    }

    private static Thread start(String name, Runnable work) {
        // Netty's pools have thread caches only for its own kind of threads.
        Thread thread = new FastThreadLocalThread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** The number of queued requests. */
    public int waiting() {
        return queues.waiting();
    }

    /** The number of threads that run a model. */
    public int busy() {
        return queues.busy();
    }

    /** The number of threads whose run goes on although it was terminated. */
    public int stuck() {
        return stuck(null);
    }

    /** Whether a model can run nothing, because it has no other runs than such as go on after they were terminated. */
    public boolean blocked(OnnxModel model) {
        ModelQueue queue = queues.find(model);
        return queue != null && stuck(queue) >= queue.permits();
    }

    private int stuck(@Nullable ModelQueue queue) {
        return (int) workers.stream()
                .filter(worker -> worker.stuck(queue, stuckAfter))
                .count();
    }

    /** Fails the requests that an unloaded model still has after the grace period, and terminates their runs. */
    public void unload(OnnxModel model) {
        ModelQueue queue = queues.find(model);
        if (queue != null) {
            deadlines.set(System.nanoTime() + grace.toNanos(), () -> {
                OipException unloaded = new OipException(ErrorCode.UNAVAILABLE, queue.name() + " was unloaded");
                end(List.of(queue), unloaded);
                queues.drain(queue, unloaded);
            });
        }
    }

    private void end(List<ModelQueue> ended, OipException failure) {
        ended.forEach(queue -> queue.end(failure));
        workers.forEach(Worker::failIfEnded);
    }

    /** Prepares for a loaded model, so that unsupported settings are logged at once. */
    public void prepare(OnnxModel model) {
        queues.of(model);
    }

    /**
     * Runs a model.
     *
     * @param model one reference is taken, and released at the end
     * @param request taken; checked against the model
     * @param deadlineNanos the deadline in {@link System#nanoTime()}, {@link Long#MAX_VALUE} for none
     * @param allocator the allocator of the response and of copies for the run
     * @param callback called exactly once, on any thread, with the response or INVALID_ARGUMENT, OVERLOADED (with the
     *     delay after which to retry), DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE or the failure of the run
     */
    public Cancellable submit(
            OnnxModel model,
            InferRequest request,
            long deadlineNanos,
            ByteBufAllocator allocator,
            InferCallback callback) {
        LocalRun run;
        try {
            LocalRun.RunRequest submission =
                    new LocalRun.RunRequest(request, deadlineNanos, allocator, callback, System.nanoTime());
            ModelQueue queue = queues.of(model);
            model.require(request);
            Classification.require(model, request);
            requireNoSequence(queue, request);
            requireTime(queue, submission);
            run = new LocalRun(queue, submission);
            queues.add(queue, run);
        } catch (RuntimeException | Error refusal) {
            request.release();
            model.release();
            callback.failed(Worker.failure(model, refusal));
            return () -> {};
        }
        run.startDeadline();
        return run;
    }

    /** Local models keep no state between requests; ids of 0 and empty ids belong to no sequence. */
    private static void requireNoSequence(ModelQueue queue, InferRequest request) {
        Parameter id = request.parameters().get(SEQUENCE);
        if (id != null && !NO_SEQUENCE.contains(id)) {
            throw OipException.invalid(
                    queue.name() + ": local models have no sequences, got " + SEQUENCE + " '" + id.text() + "'");
        }
    }

    private static void requireTime(ModelQueue queue, LocalRun.RunRequest submission) {
        if (submission.expired(submission.since())) {
            throw new OipException(
                    ErrorCode.DEADLINE_EXCEEDED, queue.name() + ": the deadline passed before the request was queued");
        }
    }

    /**
     * Rejects new requests, fails queued ones, and waits for active runs; runs that do not complete in time are
     * terminated and waited for again. A run that still does not end retains its model until it does. Blocks.
     */
    @Override
    public void close() {
        queues.close();
        queues.all().forEach(queue -> queues.drain(queue, RunQueues.closing()));
        if (!ended()) {
            end(queues.all(), RunQueues.closing());
            if (!ended()) {
                LOG.warn("the local backend closes while a run is active: the run did not end after it was terminated");
            }
        }
        deadlines.close();
    }

    /** Waits for the threads up to the timeout; returns whether all have ended. */
    private boolean ended() {
        long begun = System.nanoTime();
        try {
            for (Thread thread : threads) {
                long left = grace.toNanos() - (System.nanoTime() - begun);
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

package dev.isthmus.local.run;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/**
 * One request from queue to outcome. It ends exactly once, by calling its callback from any thread: with the response
 * or the failure of the run, or earlier by its deadline, its client or the closing of the executor. What it owns (the
 * request and a reference to the model) is released by the thread that removes it from the queue: for a worker after
 * the run, which may still read the request after its callback was called.
 */
final class LocalRun implements Cancellable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalRun.class);
    private static final Marker REPEATS = MarkerFactory.getMarker("repeats");

    private final ModelQueue queue;
    private final RunRequest submission;
    private final @Nullable BatchKey batchKey;
    private @Nullable Execution execution;
    private Deadlines.@Nullable DeadlineTimer deadline;
    private boolean ended;
    private boolean announced;

    LocalRun(ModelQueue queue, RunRequest submission) {
        this.queue = queue;
        this.submission = submission;
        this.batchKey = queue.batching() == null ? null : queue.batching().keyOf(submission.request());
    }

    RunRequest submission() {
        return submission;
    }

    /** Its batch key; null if it runs alone. */
    @Nullable
    BatchKey batchKey() {
        return batchKey;
    }

    /** Starts its deadline timer. */
    synchronized void startDeadline() {
        if (!ended && submission.hasDeadline()) {
            deadline = queue.deadlines().set(submission.deadlineNanos(), this::expire);
        }
    }

    /** Joins an execution; returns false if it has ended. */
    boolean join(Execution next) {
        if (submission.expired(System.nanoTime())) {
            expire();
        }
        synchronized (this) {
            if (!ended) {
                execution = next;
                next.join();
            }
            return !ended;
        }
    }

    /** Notifies its callback that the run starts; only once, even if the run is repeated. */
    void started(boolean first) {
        if (!announced) {
            announced = true;
            submission.callback().started(first);
        }
    }

    /** Ends it because its deadline has passed. */
    void expire() {
        String where = execution() != null ? "while the model ran" : "while the request was in the local queue";
        fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, queue.name() + ": the deadline passed " + where));
    }

    @Override
    public void cancel() {
        fail(new OipException(ErrorCode.CANCELLED, queue.name() + ": the request was cancelled"));
    }

    /**
     * The outputs as the request wants them.
     *
     * @param outputs taken
     */
    List<Tensor> wanted(List<Tensor> outputs) {
        InferRequest request = submission.request();
        return Classification.requested(request)
                ? new Classification(queue.model(), submission.allocator()).of(request.outputs(), outputs)
                : outputs;
    }

    /** Ends it with a response; the outputs are taken. */
    void complete(List<Tensor> outputs) {
        if (!end()) {
            outputs.forEach(Tensor::release);
            return;
        }
        InferResponse response =
                new InferResponse(queue.model().ref(), submission.request().id(), Map.of(), outputs);
        tell(callback -> callback.done(response));
    }

    /** Calls its callback, whose failure must not keep others from their outcome. */
    private void tell(Consumer<InferCallback> outcome) {
        try {
            outcome.accept(submission.callback());
        } catch (Throwable fault) {
            LOG.atError()
                    .addMarker(REPEATS)
                    .setCause(fault)
                    .log("{}: internal error in the callback of a request; please report it", queue.name());
        }
    }

    /**
     * Ends it with a failure; returns false if it has ended already. Terminates a run that no other request waits for.
     */
    boolean fail(OipException failure) {
        if (!end()) {
            return false;
        }
        Execution joined = execution();
        if (joined != null) {
            joined.leave();
        } else if (queue.remove(this)) {
            release();
        }
        tell(callback -> callback.failed(failure));
        return true;
    }

    private synchronized @Nullable Execution execution() {
        return execution;
    }

    private synchronized boolean end() {
        boolean first = !ended;
        ended = true;
        queue.deadlines().cancel(deadline);
        deadline = null;
        return first;
    }

    /** Releases what it owns; called once, by the thread that removed it from the queue. */
    void release() {
        submission.request().release();
        queue.model().release();
    }

    /**
     * A submitted request.
     *
     * @param deadlineNanos the deadline in {@link System#nanoTime()}, {@link #NO_DEADLINE} for none
     * @param since the time of its arrival in {@link System#nanoTime()}
     */
    record RunRequest(
            InferRequest request, long deadlineNanos, ByteBufAllocator allocator, InferCallback callback, long since) {
        static final long NO_DEADLINE = Long.MAX_VALUE;

        boolean hasDeadline() {
            return deadlineNanos != NO_DEADLINE;
        }

        boolean expired(long now) {
            return hasDeadline() && now - deadlineNanos >= 0;
        }
    }
}

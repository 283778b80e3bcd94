package dev.isthmus.local.run;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request on its way through queue and run. It ends exactly once, with its callback: by an answer or a failure of the
 * run, or before that by its deadline, by its client or by the executor's closing, from whatever thread. What it owns (the
 * request and a use of the model) is given back by whoever takes it out of the queue: a worker after the run, which may
 * still read the request when its client has long been answered.
 */
final class LocalRun implements Cancellable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalRun.class);

    private final ModelQueue queue;
    private final RunRequest order;
    private final @Nullable BatchKey fit;
    private @Nullable Execution flight;
    private Deadlines.@Nullable DeadlineTimer deadline;
    private boolean ended;
    private boolean announced;

    /** Its neighbours in the queue, and whether it is there: guarded by the queue's lock. */
    @Nullable
    LocalRun before;

    @Nullable
    LocalRun after;

    boolean queued;

    LocalRun(ModelQueue queue, RunRequest order) {
        this.queue = queue;
        this.order = order;
        this.fit = queue.batching() == null ? null : queue.batching().fit(order.request());
    }

    RunRequest order() {
        return order;
    }

    /** How it may share a run; null where it runs alone. */
    @Nullable
    BatchKey fit() {
        return fit;
    }

    /** From now on it ends at its deadline. */
    synchronized void arm() {
        if (!ended && order.hasDeadline()) {
            deadline = queue.deadlines().set(order.deadlineNanos(), this::expire);
        }
    }

    /** Goes on board; false where it has ended. */
    boolean begin(Execution next) {
        if (order.late(System.nanoTime())) {
            expire();
        }
        synchronized (this) {
            if (!ended) {
                flight = next;
                next.board();
            }
            return !ended;
        }
    }

    /** Says that its run begins, once, however often it is tried. */
    void started(boolean first) {
        if (!announced) {
            announced = true;
            order.callback().started(first);
        }
    }

    private synchronized boolean began() {
        return flight != null;
    }

    /** Its deadline has passed. */
    void expire() {
        String where = began() ? "while the model ran" : "while the request was in the local queue";
        fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, queue.name() + ": the deadline passed " + where));
    }

    @Override
    public void cancel() {
        fail(new OipException(ErrorCode.CANCELLED, queue.name() + ": the request was cancelled"));
    }

    /** Ends it with an answer; the outputs are taken. */
    void answer(List<Tensor> outputs) {
        if (!end()) {
            outputs.forEach(Tensor::release);
            return;
        }
        InferResponse response =
                new InferResponse(queue.model().ref(), order.request().id(), Map.of(), outputs);
        try {
            order.callback().done(response);
        } catch (RuntimeException fault) {
            LOG.error("{}: the receiver of an answer failed", queue.name(), fault);
        }
    }

    /** Ends it with a failure; false where it has ended. A run that nobody waits for any more ends with it. */
    boolean fail(OipException failure) {
        if (!end()) {
            return false;
        }
        Execution under = flight();
        if (under != null) {
            under.leave();
        } else if (queue.remove(this)) {
            giveBack();
        }
        try {
            order.callback().failed(failure);
        } catch (RuntimeException fault) {
            LOG.error("{}: the receiver of a failure failed", queue.name(), fault);
        }
        return true;
    }

    private synchronized @Nullable Execution flight() {
        return flight;
    }

    private synchronized boolean end() {
        boolean first = !ended;
        ended = true;
        queue.deadlines().cancel(deadline);
        deadline = null;
        return first;
    }

    /** Gives back what it owns; once, by whoever took it out of the queue. */
    void giveBack() {
        order.request().release();
        queue.model().release();
    }
}

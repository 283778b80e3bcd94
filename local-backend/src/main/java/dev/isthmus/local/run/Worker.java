package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/**
 * The loop of one thread: takes a request, or several that share a run, runs the model, and completes the requests. No
 * failure of a model ends it.
 */
final class Worker implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);
    private static final Marker REPEATS = MarkerFactory.getMarker("repeats");

    private final RunQueues queues;
    private final List<LocalRun> taken = new ArrayList<>();
    private @Nullable RunHandle handle;
    private volatile @Nullable Execution execution;

    Worker(RunQueues queues) {
        this.queues = queues;
    }

    @Override
    public void run() {
        LowPriorityThread.lower();
        ModelQueue from = queues.take(null, taken);
        while (from != null) {
            try {
                runTaken(from);
            } catch (Throwable fault) {
                OipException failure = failure(from.model(), fault);
                taken.forEach(run -> run.fail(failure));
            } finally {
                taken.forEach(LocalRun::release);
                taken.clear();
            }
            from = queues.take(from, taken);
        }
        if (handle != null) {
            handle.close();
        }
    }

    /** Fails the requests of the active run if their queue has ended. Thread-safe. */
    void failIfEnded() {
        Execution now = execution;
        if (now != null) {
            now.failIfEnded();
        }
    }

    /** Whether it has a run of this model, or of any for null, that goes on although it was terminated. Thread-safe. */
    boolean stuck(@Nullable ModelQueue queue, Duration limit) {
        Execution now = execution;
        return now != null && (queue == null || now.queue() == queue) && now.outlasts(limit);
    }

    private void runTaken(ModelQueue queue) {
        if (taken.size() == 1) {
            runAlone(queue, taken.getFirst());
        } else {
            runBatch(queue);
        }
    }

    private void runAlone(ModelQueue queue, LocalRun run) {
        OnnxModel model = queue.model();
        List<Tensor> outputs = null;
        OipException failure = null;
        Execution only = newExecution(queue, List.of(run));
        try {
            if (run.join(only)) {
                only.allJoined();
                run.started(true);
                outputs = run.wanted(model.run(
                        run.submission().request(), handle(), run.submission().allocator()));
            }
        } catch (Throwable fault) {
            failure = failure(model, fault);
        }
        finish(only);
        if (outputs != null) {
            run.complete(outputs);
        } else if (failure != null && run.fail(failure) && failure.code() == ErrorCode.INTERNAL) {
            LOG.atError()
                    .addMarker(REPEATS)
                    .addKeyValue("model", model.ref().name())
                    .setCause(failure)
                    .log("run of model {} failed; the cause says where", model.ref());
        }
    }

    /**
     * One run for all requests that still wait. If it fails, each is run alone, because one request may be the cause.
     */
    private void runBatch(ModelQueue queue) {
        OnnxModel model = queue.model();
        List<LocalRun> joined = new ArrayList<>(taken.size());
        List<InferRequest> requests = new ArrayList<>(taken.size());
        List<List<Tensor>> outputs = null;
        Execution shared = newExecution(queue, List.copyOf(taken));
        try {
            for (LocalRun run : taken) {
                if (run.join(shared)) {
                    joined.add(run);
                    requests.add(run.submission().request());
                }
            }
            shared.allJoined();
            if (joined.size() > 1) {
                for (int i = 0; i < joined.size(); i++) {
                    joined.get(i).started(i == 0);
                }
                outputs = wanted(
                        joined,
                        new Batch(model, requests)
                                .run(handle(), joined.getFirst().submission().allocator()));
            }
        } catch (Throwable fault) {
            LOG.debug(
                    "model {}: a batch of {} requests failed, each runs alone: {}",
                    model.ref(),
                    joined.size(),
                    fault.toString());
        }
        finish(shared);
        for (int i = 0; i < joined.size(); i++) {
            if (outputs == null) {
                runAlone(queue, joined.get(i));
            } else {
                joined.get(i).complete(outputs.get(i));
            }
        }
    }

    /** @param outputs of each run, taken */
    private static List<List<Tensor>> wanted(List<LocalRun> runs, List<List<Tensor>> outputs) {
        List<List<Tensor>> all = new ArrayList<>(outputs);
        for (int i = 0; i < runs.size(); i++) {
            try {
                all.set(i, runs.get(i).wanted(outputs.get(i)));
            } catch (RuntimeException | Error failure) {
                all.remove(i);
                all.forEach(each -> each.forEach(Tensor::release));
                throw failure;
            }
        }
        return all;
    }

    private Execution newExecution(ModelQueue queue, List<LocalRun> requests) {
        Execution next = new Execution(queue, requests, handle());
        execution = next;
        next.failIfEnded();
        return next;
    }

    /** The handle for the next run: the last one's, unless that was terminated. */
    private RunHandle handle() {
        RunHandle now = handle;
        if (now == null) {
            now = new RunHandle();
            handle = now;
        }
        return now;
    }

    private void finish(Execution ended) {
        execution = null;
        if (ended.finish() && handle != null) {
            handle.close();
            handle = null;
        }
    }

    static OipException failure(OnnxModel model, Throwable fault) {
        if (fault instanceof OipException known) {
            return known;
        }
        return new OipException(ErrorCode.INTERNAL, "model '" + model.ref().name() + "': the run failed", fault);
    }
}

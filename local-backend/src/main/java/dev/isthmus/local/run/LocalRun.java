package dev.isthmus.local.run;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request on its way through the queue and a run. Owns the request and a use of the model until it ends; ends exactly
 * once at the callback. Cancellation may come from any thread.
 */
final class LocalRun implements Runnable, LocalBackend.Cancellable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalRun.class);

    private final OnnxModel model;
    private final InferRequest request;
    private final long deadlineNanos;
    private final ByteBufAllocator allocator;
    private final LocalBackend.Callback callback;
    private @Nullable RunHandle running;
    private boolean cancelled;

    LocalRun(
            OnnxModel model,
            InferRequest request,
            long deadlineNanos,
            ByteBufAllocator allocator,
            LocalBackend.Callback callback) {
        this.model = model;
        this.request = request;
        this.deadlineNanos = deadlineNanos;
        this.allocator = allocator;
        this.callback = callback;
    }

    @Override
    public void run() {
        try {
            callback.done(infer());
        } catch (OipException failure) {
            callback.failed(failure);
        } catch (RuntimeException fault) {
            LOG.error("run of model {}", model.ref(), fault);
            callback.failed(
                    new OipException(ErrorCode.INTERNAL, "model '" + model.ref().name() + "': the run failed", fault));
        } finally {
            end();
        }
    }

    private InferResponse infer() {
        if (deadlineNanos != Long.MAX_VALUE && System.nanoTime() - deadlineNanos >= 0) {
            throw new OipException(
                    ErrorCode.DEADLINE_EXCEEDED, "the deadline passed while the request was in the local queue");
        }
        callback.started(true);
        try (RunHandle options = new RunHandle()) {
            begin(options);
            List<Tensor> outputs = model.run(request, options, allocator);
            return new InferResponse(model.ref(), request.id(), Map.of(), outputs);
        } catch (OipException e) {
            if (wasCancelled()) {
                throw new OipException(ErrorCode.CANCELLED, "the run was cancelled", e);
            }
            throw e;
        } finally {
            synchronized (this) {
                running = null;
            }
        }
    }

    private synchronized void begin(RunHandle options) {
        if (cancelled) {
            throw new OipException(ErrorCode.CANCELLED, "the request was cancelled");
        }
        running = options;
    }

    private synchronized boolean wasCancelled() {
        return cancelled;
    }

    @Override
    public synchronized void cancel() {
        cancelled = true;
        if (running != null) {
            running.terminate();
        }
    }

    /** Gives back what the run owns. */
    void end() {
        request.release();
        model.release();
    }
}

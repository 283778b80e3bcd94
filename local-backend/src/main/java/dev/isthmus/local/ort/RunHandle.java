package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/**
 * Ends a run from another thread; wraps ONNX Runtime's options of a run. May serve one run after the other until it was
 * terminated. Thread-safe: a terminate that comes with or after the close does nothing.
 */
public final class RunHandle implements AutoCloseable {
    private OrtSession.@Nullable RunOptions options;
    private boolean terminated;
    private boolean closed;

    /** Ends the run that goes on, between two of the model's nodes, and forbids those that come. */
    public synchronized void terminate() {
        terminated = true;
        if (options != null && !closed) {
            try {
                options.setTerminate(true);
            } catch (OrtException e) {
                throw new IllegalStateException("a run cannot be ended", e);
            }
        }
    }

    /** Whether {@link #terminate()} was called: why a run failed. */
    public synchronized boolean terminated() {
        return terminated;
    }

    /** @throws OipException CANCELLED when terminated */
    synchronized OrtSession.RunOptions options() throws OrtException {
        if (terminated) {
            throw new OipException(ErrorCode.CANCELLED, "the run was cancelled");
        }
        if (closed) {
            throw new IllegalStateException("the run's handle is closed");
        }
        if (options == null) {
            options = new OrtSession.RunOptions();
        }
        return options;
    }

    /** After the run. */
    @Override
    public synchronized void close() {
        if (options != null && !closed) {
            options.close();
        }
        closed = true;
    }
}

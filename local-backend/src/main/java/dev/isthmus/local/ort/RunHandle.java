package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/**
 * What a run needs besides its request: ONNX Runtime's options of a run, with which another thread ends it, and memory for
 * its arguments. May serve one run after the other until it was terminated, of any model, and never two at once. A terminate
 * may come from any thread; with or after the close it does nothing.
 */
public final class RunHandle implements AutoCloseable {
    private final NativeArguments arguments = new NativeArguments();
    private long options;
    private boolean terminated;
    private boolean closed;

    /** Ends the run that goes on, between two of the model's nodes, and forbids those that come. */
    public synchronized void terminate() {
        terminated = true;
        if (options != 0 && !closed) {
            try {
                OrtApi.terminate(options);
            } catch (OrtException e) {
                throw new IllegalStateException("a run cannot be ended", e);
            }
        }
    }

    /** Whether {@link #terminate()} was called: why a run failed. */
    public synchronized boolean terminated() {
        return terminated;
    }

    /** Of the thread that runs. */
    NativeArguments arguments() {
        return arguments;
    }

    /**
     * The options' pointer.
     *
     * @throws OipException CANCELLED when terminated
     */
    synchronized long options() throws OrtException {
        if (terminated) {
            throw new OipException(ErrorCode.CANCELLED, "the run was cancelled");
        }
        if (closed) {
            throw new IllegalStateException("the run's handle is closed");
        }
        if (options == 0) {
            try (Arena arena = Arena.ofConfined()) {
                options = OrtApi.options(arena.allocate(ValueLayout.JAVA_LONG).address());
            }
        }
        return options;
    }

    /** After the run. */
    @Override
    public synchronized void close() {
        if (options != 0 && !closed) {
            OrtApi.releaseOptions(options);
        }
        closed = true;
    }
}

package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/**
 * The resources of a run: ONNX Runtime's run options, which allow another thread to terminate it, and memory for its
 * arguments. Reusable for consecutive runs of any model until it is terminated; not for concurrent runs. {@link
 * #terminate()} may be called from any thread, and has no effect after {@link #close()}.
 */
public final class RunHandle implements AutoCloseable {
    private final NativeArguments arguments = new NativeArguments();
    private long options;
    private boolean terminated;
    private boolean closed;

    /** Terminates the active run before its next node, and prevents future runs. */
    public synchronized void terminate() {
        terminated = true;
        if (options != 0 && !closed) {
            try {
                OrtApi.terminate(options);
            } catch (OrtException e) {
                throw new IllegalStateException("a run cannot be terminated", e);
            }
        }
    }

    /** Whether {@link #terminate()} was called. */
    public synchronized boolean terminated() {
        return terminated;
    }

    /** The arguments; for the thread of the run only. */
    NativeArguments arguments() {
        return arguments;
    }

    /**
     * The pointer to the run options.
     *
     * @throws OipException CANCELLED if terminated
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

    /** Releases the run options; no run may be active. */
    @Override
    public synchronized void close() {
        if (options != 0 && !closed) {
            OrtApi.releaseOptions(options);
        }
        closed = true;
    }
}

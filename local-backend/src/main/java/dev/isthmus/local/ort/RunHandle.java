package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;

/** Ends a run from another thread. */
public final class RunHandle implements AutoCloseable {
    private final OrtSession.RunOptions options;

    public RunHandle() {
        try {
            options = new OrtSession.RunOptions();
        } catch (OrtException e) {
            throw new IllegalStateException(e);
        }
    }

    OrtSession.RunOptions options() {
        return options;
    }

    public void terminate() {
        try {
            options.setTerminate(true);
        } catch (OrtException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        options.close();
    }
}

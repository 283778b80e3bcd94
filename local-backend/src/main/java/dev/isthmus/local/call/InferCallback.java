package dev.isthmus.local.call;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;

/** Receives the outcome of a request, on a worker thread or on the caller's. */
public interface InferCallback {
    /**
     * The run starts.
     *
     * @param first whether this is the first, or only, request of its run
     */
    default void started(boolean first) {}

    /** Receives the response (taken). */
    void done(InferResponse response);

    void failed(OipException failure);
}

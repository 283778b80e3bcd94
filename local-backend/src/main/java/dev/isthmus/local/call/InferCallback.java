package dev.isthmus.local.call;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;

/** Takes the outcome of a request, on a worker thread or at once. */
public interface InferCallback {
    /**
     * The run begins.
     *
     * @param first of the requests that are run together, or the only one
     */
    default void started(boolean first) {}

    /** The answer (taken). */
    void done(InferResponse response);

    void failed(OipException failure);
}

package dev.isthmus.gateway.batching;

import dev.isthmus.oip.InferRequest;

/**
 * A decoded request that can be joined with others of an equal key. Owns its tensors, which share the memory of the
 * message that they were read from.
 *
 * @param rows the first dimension of its inputs
 * @param bytes of its inputs
 */
record JoinableRequest(InferRequest request, JoinKey key, int rows, long bytes) {

    void release() {
        request.release();
    }
}

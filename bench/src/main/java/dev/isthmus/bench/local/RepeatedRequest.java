package dev.isthmus.bench.local;

import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferRequest;

/** A request that is sent repeatedly, by any threads and without allocations of its own. */
record RepeatedRequest(LocalBackend backend, InferRequest request) implements AutoCloseable {
    static RepeatedRequest of(LocalBackend backend, Case testCase) {
        return new RepeatedRequest(backend, testCase.request());
    }

    /** Sends the request once. */
    void ask(InferCallback callback) {
        // The backend releases the request; the second reference keeps its tensors.
        for (int i = 0; i < request.inputs().size(); i++) {
            request.inputs().get(i).data().retain();
        }
        backend.infer(request, Long.MAX_VALUE, BufferAllocators.shared(), callback);
    }

    @Override
    public void close() {
        request.release();
    }
}

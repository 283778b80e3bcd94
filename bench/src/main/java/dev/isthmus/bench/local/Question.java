package dev.isthmus.bench.local;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferRequest;
import io.netty.buffer.PooledByteBufAllocator;

/** One request that is asked again and again, by any threads, without garbage of its own. */
record Question(LocalBackend backend, InferRequest request) implements AutoCloseable {
    static Question of(LocalBackend backend, Case asked) {
        return new Question(backend, asked.request());
    }

    /** Asks once. */
    void ask(InferCallback callback) {
        // The backend takes a request; its tensors are kept by the second reference.
        for (int i = 0; i < request.inputs().size(); i++) {
            request.inputs().get(i).data().retain();
        }
        backend.infer(request, Long.MAX_VALUE, PooledByteBufAllocator.DEFAULT, callback);
    }

    @Override
    public void close() {
        request.release();
    }
}

package dev.isthmus.local.ort;

import java.util.concurrent.atomic.LongAdder;

/** Counts the bytes of tensors that a model's runs copied, beside what the model itself does. Thread-safe. */
public final class CopyCounter {
    private final LongAdder gathered = new LongAdder();
    private final LongAdder copiedOut = new LongAdder();

    CopyCounter() {}

    void gathered(long bytes) {
        gathered.add(bytes);
    }

    void copiedOut(long bytes) {
        copiedOut.add(bytes);
    }

    /** Bytes of inputs that were not in one piece outside the heap, or were BYTES. */
    public long gathered() {
        return gathered.sum();
    }

    /** Bytes of outputs that were neither written where the answer needs them nor handed out: BYTES, and small ones. */
    public long copiedOut() {
        return copiedOut.sum();
    }
}

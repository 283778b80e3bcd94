package dev.isthmus.local.ort;

import java.util.concurrent.atomic.LongAdder;

/** Counts the tensor bytes copied by a model's runs, outside the model itself. Thread-safe. */
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

    /** Bytes of inputs that were not contiguous and aligned in direct memory, or were BYTES. */
    public long gathered() {
        return gathered.sum();
    }

    /** Bytes of outputs that were neither written in place nor used in place: BYTES and small outputs. */
    public long copiedOut() {
        return copiedOut.sum();
    }
}

package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.NumberScanner;
import io.netty.util.concurrent.FastThreadLocal;
import org.jspecify.annotations.Nullable;

/** What reading a tensor takes until its object ends: one for all tensors of a document, and for the next document. */
final class TensorScratch {
    /** One that no document needs, for the next document of the thread. */
    private static final FastThreadLocal<@Nullable TensorScratch> UNUSED = new FastThreadLocal<>();

    final ArrayNesting nesting = new ArrayNesting();
    final NumberScanner numbers = new NumberScanner(nesting);
    final long[] extents = new long[Shape.MAX_RANK];
    /** The extents read; -1 before the array of them. */
    int rank;

    private TensorScratch() {}

    static TensorScratch take() {
        TensorScratch unused = UNUSED.get();
        UNUSED.set(null);
        return unused == null ? new TensorScratch() : unused;
    }

    /** The document needs it no more. */
    void release() {
        UNUSED.set(this);
    }
}

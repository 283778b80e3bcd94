package dev.isthmus.local.run;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferRequest;
import io.netty.buffer.ByteBufAllocator;

/**
 * What somebody wants run.
 *
 * @param deadlineNanos on the scale of {@link System#nanoTime()}, {@link #NO_DEADLINE} for none
 * @param since when it came, on the same scale
 */
record RunRequest(
        InferRequest request, long deadlineNanos, ByteBufAllocator allocator, InferCallback callback, long since) {
    static final long NO_DEADLINE = Long.MAX_VALUE;

    boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }

    boolean late(long now) {
        return hasDeadline() && now - deadlineNanos >= 0;
    }
}

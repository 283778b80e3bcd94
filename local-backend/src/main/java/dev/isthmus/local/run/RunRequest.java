package dev.isthmus.local.run;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferRequest;
import io.netty.buffer.ByteBufAllocator;

/**
 * A submitted request.
 *
 * @param deadlineNanos the deadline in {@link System#nanoTime()}, {@link #NO_DEADLINE} for none
 * @param since the time of its arrival in {@link System#nanoTime()}
 */
record RunRequest(
        InferRequest request, long deadlineNanos, ByteBufAllocator allocator, InferCallback callback, long since) {
    static final long NO_DEADLINE = Long.MAX_VALUE;

    boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }

    boolean expired(long now) {
        return hasDeadline() && now - deadlineNanos >= 0;
    }
}

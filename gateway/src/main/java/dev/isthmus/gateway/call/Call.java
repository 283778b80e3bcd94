package dev.isthmus.gateway.call;

import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import java.util.concurrent.Executor;

/**
 * One request of a client. Lives on the event loop of its channel: {@code loop} is that loop, and every callback of the
 * call happens on it.
 *
 * @param deadlineNanos on the scale of {@link System#nanoTime()}; {@link #NO_DEADLINE} for none
 * @param headers lower-case names; only those that may go upstream
 * @param affinity calls of the same affinity belong on the same server; {@link #NO_AFFINITY} for any
 */
public record Call(
        Operation operation,
        long deadlineNanos,
        Map<String, String> headers,
        long affinity,
        Executor loop,
        ByteBufAllocator allocator) {

    public static final long NO_AFFINITY = 0;
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    public Call {
        headers = Map.copyOf(headers);
    }

    /** A call that may go to any server. */
    public Call(
            Operation operation,
            long deadlineNanos,
            Map<String, String> headers,
            Executor loop,
            ByteBufAllocator allocator) {
        this(operation, deadlineNanos, headers, NO_AFFINITY, loop, allocator);
    }

    /** The same call, which belongs on the server of this affinity. */
    public Call withAffinity(long other) {
        return new Call(operation, deadlineNanos, headers, other, loop, allocator);
    }

    /** The same call with another deadline. */
    public Call withDeadline(long nanos) {
        return new Call(operation, nanos, headers, affinity, loop, allocator);
    }

    public boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }
}

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
 */
public record Call(
        Operation operation,
        long deadlineNanos,
        Map<String, String> headers,
        Executor loop,
        ByteBufAllocator allocator) {

    public static final long NO_DEADLINE = Long.MAX_VALUE;

    public Call {
        headers = Map.copyOf(headers);
    }

    public boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }
}

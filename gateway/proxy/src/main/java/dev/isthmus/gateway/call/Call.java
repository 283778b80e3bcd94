package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.MemoryBudget;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import java.util.concurrent.Executor;

/**
 * One request of a client. Lives on the event loop of its channel: {@code loop} is that loop, and every callback of the
 * call happens on it.
 *
 * @param deadlineNanos on the scale of {@link System#nanoTime()}; {@link #NO_DEADLINE} for none
 * @param headers lower-case names; only those that may go upstream
 * @param client all that the client sent, for routing to look at
 * @param affinity calls of the same affinity belong on the same server; {@link #NO_AFFINITY} for any
 * @param sequence whether the server keeps a state between the calls of this affinity, which another one does not have
 * @param memory counts the bytes that it holds
 */
public record Call(
        Operation operation,
        long deadlineNanos,
        Map<String, String> headers,
        HeaderFields client,
        long affinity,
        boolean sequence,
        Executor loop,
        ByteBufAllocator allocator,
        MemoryBudget.MemoryReservation memory) {

    public static final long NO_AFFINITY = 0;
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    public Call {
        headers = Map.copyOf(headers);
    }

    /** A call of no client: it may go to any server, and nobody counts its bytes. */
    public Call(
            Operation operation,
            long deadlineNanos,
            Map<String, String> headers,
            Executor loop,
            ByteBufAllocator allocator) {
        this(
                operation,
                deadlineNanos,
                headers,
                HeaderFields.NONE,
                NO_AFFINITY,
                false,
                loop,
                allocator,
                MemoryBudget.MemoryReservation.UNCOUNTED);
    }

    /** The same call of a client with these headers. */
    public Call from(HeaderFields fields) {
        return new Call(operation, deadlineNanos, headers, fields, affinity, sequence, loop, allocator, memory);
    }

    /** The same call, which belongs on the server of this affinity. */
    public Call withAffinity(long other) {
        return withAffinity(other, false);
    }

    /** The same call, which belongs on the server of this affinity, be it for the state of a sequence. */
    public Call withAffinity(long other, boolean ofSequence) {
        return other == affinity && ofSequence == sequence
                ? this
                : new Call(operation, deadlineNanos, headers, client, other, ofSequence, loop, allocator, memory);
    }

    /** The same call with another deadline. */
    public Call withDeadline(long nanos) {
        return new Call(operation, nanos, headers, client, affinity, sequence, loop, allocator, memory);
    }

    public boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }
}

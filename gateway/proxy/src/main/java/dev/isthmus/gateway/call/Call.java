package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.MemoryBudget;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.Map;

/**
 * One call as it goes through the gateway, by value: a layer that changes something hands on another one with the same context.
 *
 * @param deadlineNanos on the scale of {@link System#nanoTime()}; {@link #NO_DEADLINE} for none
 * @param headers lower-case names; only those that may go upstream
 * @param affinity calls of the same affinity belong on the same server; {@link #NO_AFFINITY} for any
 * @param sequence whether the server keeps a state between the calls of this affinity, which another one does not have
 * @param context what is known of the request that it is made for
 */
public record Call(
        Operation operation,
        long deadlineNanos,
        Map<String, String> headers,
        long affinity,
        boolean sequence,
        CallContext context) {

    public static final long NO_AFFINITY = 0;
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    public Call {
        headers = Map.copyOf(headers);
    }

    /** A call that may go to any server. */
    public Call(Operation operation, long deadlineNanos, Map<String, String> headers, CallContext context) {
        this(operation, deadlineNanos, headers, NO_AFFINITY, false, context);
    }

    /** A call that the gateway makes itself: it may go to any server, and nobody counts its bytes. */
    public Call(
            Operation operation,
            long deadlineNanos,
            Map<String, String> headers,
            EventLoop loop,
            ByteBufAllocator allocator) {
        this(operation, deadlineNanos, headers, CallContext.internal(loop, allocator));
    }

    /** The same call, which belongs on the server of this affinity. */
    public Call withAffinity(long other) {
        return withAffinity(other, false);
    }

    /** The same call, which belongs on the server of this affinity, be it for the state of a sequence. */
    public Call withAffinity(long other, boolean ofSequence) {
        return other == affinity && ofSequence == sequence
                ? this
                : new Call(operation, deadlineNanos, headers, other, ofSequence, context);
    }

    /** The same call with another deadline. */
    public Call withDeadline(long nanos) {
        return new Call(operation, nanos, headers, affinity, sequence, context);
    }

    public boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }

    /** All that the client sent in its head, for routing to look at. */
    public HeaderFields client() {
        return context.headers();
    }

    /** The event loop of the client's connection: every callback of the call happens on it. */
    public EventLoop loop() {
        return context.loop();
    }

    /** Gives the buffers of the call. */
    public ByteBufAllocator allocator() {
        return context.allocator();
    }

    /** Counts the bytes that the call holds. */
    public MemoryBudget.MemoryReservation memory() {
        return context.memory();
    }
}

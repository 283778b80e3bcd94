package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.MemoryBudget;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One call on its way through the gateway. Immutable: a layer that changes something passes on another one with the
 * same context.
 *
 * @param deadlineNanos on the scale of {@link System#nanoTime()}; {@link #NO_DEADLINE} for none
 * @param headers lower-case names; only those that are forwarded upstream
 * @param affinity calls with the same affinity go to the same server; {@link #NO_AFFINITY} for any
 * @param sequenceNanos when the sequence began whose state the server keeps between the calls of this affinity, so that no
 *     other server can handle them; {@link #NO_SEQUENCE} for none, {@link #EARLIER} if it is not known
 * @param context what is known about the client's request
 */
public record Call(
        Operation operation,
        long deadlineNanos,
        Map<String, String> headers,
        long affinity,
        long sequenceNanos,
        CallContext context) {

    public static final long NO_AFFINITY = 0;
    public static final long NO_DEADLINE = Long.MAX_VALUE;
    public static final long NO_SEQUENCE = Long.MAX_VALUE;
    /** Before everything that this gateway knows of. */
    public static final long EARLIER = Long.MIN_VALUE;

    @SuppressWarnings({"unchecked", "rawtypes"}) // arrays have no type arguments
    private static final Map.Entry<String, String>[] NO_ENTRIES = new Map.Entry[0];

    public Call {
        headers = headers == HopCount.FIRST ? headers : Map.copyOf(headers);
    }

    /** A call that may go to any server. */
    public Call(Operation operation, long deadlineNanos, Map<String, String> headers, CallContext context) {
        this(operation, deadlineNanos, headers, NO_AFFINITY, NO_SEQUENCE, context);
    }

    /** A call that the gateway makes itself: it may go to any server, and its bytes are not counted. */
    public Call(
            Operation operation,
            long deadlineNanos,
            Map<String, String> headers,
            EventLoop loop,
            ByteBufAllocator allocator) {
        this(operation, deadlineNanos, headers, CallContext.internal(loop, allocator));
    }

    /** Returns a call for another operation of the same client. */
    public Call withOperation(Operation other) {
        return new Call(other, deadlineNanos, headers, affinity, sequenceNanos, context);
    }

    /** Returns the same call with another context. */
    Call with(CallContext other) {
        return new Call(operation, deadlineNanos, headers, affinity, sequenceNanos, other);
    }

    /** Returns the same call with this affinity. */
    public Call withAffinity(long other) {
        return withAffinity(other, NO_SEQUENCE);
    }

    /** Returns the same call with this affinity, for the state of a sequence that began at this time, or of none. */
    public Call withAffinity(long other, long began) {
        return other == affinity && began == sequenceNanos
                ? this
                : new Call(operation, deadlineNanos, headers, other, began, context);
    }

    public boolean sequence() {
        return sequenceNanos != NO_SEQUENCE;
    }

    /** Returns the same call with other forwarded headers. */
    public Call withHeaders(Map<String, String> others) {
        return new Call(operation, deadlineNanos, others, affinity, sequenceNanos, context);
    }

    /** Returns the same call with one more forwarded header, in place of one with the same name. */
    public Call withHeader(String name, String value) {
        if (headers.isEmpty()) {
            return withHeaders(Map.of(name, value));
        }
        if (headers.containsKey(name)) {
            Map<String, String> others = new HashMap<>(headers);
            others.put(name, value);
            return withHeaders(others);
        }
        List<Map.Entry<String, String>> all = new ArrayList<>(headers.size() + 1);
        all.addAll(headers.entrySet());
        all.add(Map.entry(name, value));
        return withHeaders(Map.ofEntries(all.toArray(NO_ENTRIES)));
    }

    /** Returns the same call with another deadline. */
    public Call withDeadline(long nanos) {
        return new Call(operation, nanos, headers, affinity, sequenceNanos, context);
    }

    /** Returns the same call with this timeout from now on, unless its client has set a deadline. */
    public Call within(@Nullable Duration timeout) {
        return timeout == null || hasDeadline() ? this : withDeadline(System.nanoTime() + timeout.toNanos());
    }

    public boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }

    /** All header fields that the client sent, for routing. */
    public HeaderFields client() {
        return context.headers();
    }

    /** The event loop of the client's connection: every callback of the call runs on it. */
    public EventLoop loop() {
        return context.loop();
    }

    /** Allocates the buffers of the call. */
    public ByteBufAllocator allocator() {
        return context.allocator();
    }

    /** Counts the bytes that the call holds. */
    public MemoryBudget.MemoryReservation memory() {
        return context.memory();
    }
}

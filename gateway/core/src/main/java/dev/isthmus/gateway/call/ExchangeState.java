package dev.isthmus.gateway.call;

import dev.isthmus.oip.OipException;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What is known of an {@link Exchange}, and what its layers keep of it. */
abstract sealed class ExchangeState permits Exchange {
    private static final @Nullable Object[] NOTHING = {};

    final CallContext context;
    final @Nullable Exchange stream;
    private @Nullable Call call;
    private @Nullable Object[] slots = NOTHING;

    long bytes;
    boolean finished;
    boolean cancelled;

    @Nullable
    OipException failure;

    ExchangeState(CallContext context, @Nullable Call call, @Nullable Exchange stream) {
        this.context = context;
        this.call = call;
        this.stream = stream;
    }

    /** The call; there is none for a request that was rejected before it became one. */
    public final Call call() {
        return Objects.requireNonNull(call);
    }

    /** Goes on with a changed call. */
    public final void call(Call changed) {
        call = changed;
    }

    /** Whether it is a call, and not a request that was rejected before it became one. */
    public final boolean isCall() {
        return call != null;
    }

    public final CallContext context() {
        return context;
    }

    /** The exchange of the stream that this is a message of; null for a call of its own. */
    public final @Nullable Exchange stream() {
        return stream;
    }

    /** What a layer keeps here; null if it has put nothing. */
    @SuppressWarnings("unchecked") // put() takes the slot's type
    public final <T> @Nullable T get(Slot<T> slot) {
        return slot.index < slots.length ? (T) slots[slot.index] : null;
    }

    /** Keeps a value of a layer. */
    public final <T> void put(Slot<T> slot, @Nullable T value) {
        if (slot.index >= slots.length) {
            slots = Arrays.copyOf(slots, Slot.count());
        }
        slots[slot.index] = value;
    }

    /** Bytes of the body that have arrived. */
    public final long bytes() {
        return bytes;
    }

    /** Whether its outcome is known: it is completed, failed or cancelled. */
    public final boolean isFinished() {
        return finished;
    }

    /** Whether the client cancelled it. */
    public final boolean isCancelled() {
        return cancelled;
    }

    /** Why it failed; null if it has not. */
    public final @Nullable OipException failure() {
        return failure;
    }
}

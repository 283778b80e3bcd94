package dev.isthmus.gateway.memory;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Limits the bytes that the calls of the whole gateway hold: requests while they are buffered, parsed and sent,
 * responses until they are written. Bytes are counted as they arrive; a call that would exceed the limit is rejected,
 * so that earlier ones can finish. Thread-safe.
 */
public final class MemoryBudget {
    private static final Duration SOON = Duration.ofSeconds(1);

    /** Pinned memory is checked each time the used bytes cross a multiple of two to this power. */
    private static final int CHECK_BITS = 16;

    private static final long CHECK_NANOS = 1_000_000;
    /**
     * The fraction of the bytes that is reserved for small calls, so that large ones never block them: one in this
     * many.
     */
    private static final int SMALL_CALLS = 16;
    /** The largest small call, in bytes. */
    private static final long SMALL_CALL = 64 << 10;

    /** The largest response that is written however much buffers pin, in bytes: health and errors. */
    private static final long SMALL_RESPONSE = 16 << 10;

    private final AtomicLong used = new AtomicLong();
    private final Counter refused;
    private final LongSupplier pinned;
    private volatile long limit;
    private volatile long pinnedLimit = Long.MAX_VALUE;
    private volatile boolean crowded;
    private volatile long checkedNanos = System.nanoTime() - CHECK_NANOS;

    /** @param limit in bytes */
    public MemoryBudget(long limit, MeterRegistry meters) {
        this(limit, () -> 0, meters);
    }

    /** @param pinned the bytes that buffers in use pin, filled or not */
    public MemoryBudget(long limit, LongSupplier pinned, MeterRegistry meters) {
        this.limit = limit;
        this.pinned = pinned;
        this.refused = Counter.builder("isthmus.memory.refused")
                .description("Calls refused because the memory limit was reached")
                .register(meters);
        Gauge.builder("isthmus.memory.used", used, AtomicLong::get)
                .description("Memory that calls hold for requests and responses")
                .baseUnit("bytes")
                .register(meters);
        Gauge.builder("isthmus.memory.limit", this, budget -> budget.limit)
                .description("Memory that calls may hold (limits.max_buffered)")
                .baseUnit("bytes")
                .register(meters);
        Gauge.builder("isthmus.buffers.pinned", pinned, LongSupplier::getAsLong)
                .description(
                        "Direct memory that buffers in use take, filled or not; above three quarters (with the default"
                                + " limits.max_buffered) more is refused")
                .baseUnit("bytes")
                .register(meters);
    }

    /**
     * Replaces the limits; bytes already held beyond them stay.
     *
     * @param pinnedBytes no further bytes are admitted while buffers in use pin more than this, filled or not
     */
    public void limit(long bytes, long pinnedBytes) {
        limit = bytes;
        pinnedLimit = pinnedBytes;
    }

    /**
     * What is used, in bytes.
     *
     * @param refused number of calls that were refused
     */
    public record BudgetUsage(long used, long limit, long pinnedLimit, long refused) {}

    /** What is used now. */
    public BudgetUsage usage() {
        return new BudgetUsage(used.get(), limit, pinnedLimit, (long) refused.count());
    }

    /** Creates the reservation of a call, which holds nothing yet. */
    public MemoryReservation reserve() {
        return new MemoryReservation(this);
    }

    /**
     * @param bytes the additional bytes
     * @param total what the call holds with them
     * @param light whether it is too small to pin a buffer of note: only the limit of bytes applies
     */
    private boolean reserved(long bytes, long total, boolean light) {
        long available = available(total);
        long before = used.get();
        if (light || !crowded(before, bytes)) {
            while (before + bytes <= available) {
                if (used.compareAndSet(before, before + bytes)) {
                    return true;
                }
                before = used.get();
            }
        }
        refused.increment();
        return false;
    }

    /** The bytes that calls may hold for one that holds this much. */
    private long available(long total) {
        return total > SMALL_CALL ? limit - limit / SMALL_CALLS : limit;
    }

    /** The failure of a request that would hold this much: for one that never fits, a retry is of no use. */
    private OipException refusal(long total) {
        if (total <= available(total)) {
            return OipException.refused(ErrorCode.OVERLOADED, full(), SOON);
        }
        return new OipException(
                ErrorCode.PAYLOAD_TOO_LARGE,
                "request: at most " + available(total) + " bytes fit into the gateway's memory",
                null,
                OipException.Processed.NO);
    }

    /** Whether buffers pin too much. Checked at intervals, because the allocator has to sum it up. */
    private boolean crowded(long before, long bytes) {
        if (crowded || before >> CHECK_BITS != (before + bytes) >> CHECK_BITS) {
            long now = System.nanoTime();
            if (now - checkedNanos >= CHECK_NANOS) {
                checkedNanos = now;
                crowded = pinned.getAsLong() > pinnedLimit;
            }
        }
        return crowded;
    }

    private String full() {
        if (crowded) {
            return "memory limit of " + pinnedLimit + " bytes for buffers reached";
        }
        return "memory limit of " + limit + " bytes for requests and responses reached";
    }

    /**
     * The bytes that one call of a client holds, in four parts: the buffered request that was not dispatched, the
     * dispatched request, the response that was not written, and the source of the response. Each is set to its current
     * size; if it grows beyond the limit, OVERLOADED is thrown, or PAYLOAD_TOO_LARGE for a request that never fits, and
     * the previous size stays counted. Not thread-safe.
     */
    public static final class MemoryReservation {
        /** The reservation of a call that the gateway makes itself. */
        public static final MemoryReservation UNCOUNTED = new MemoryReservation(null);

        private final @Nullable MemoryBudget budget;
        private long gathered;
        private long request;
        private long response;
        private long source;
        private boolean released;
        /** What is still held of the dispatched request; null if it is not known. */
        private @Nullable LongSupplier held;

        private MemoryReservation(@Nullable MemoryBudget budget) {
            this.budget = budget;
        }

        /** Sets the bytes of the request that were received and not dispatched. */
        public void gathered(long bytes) {
            add(bytes - gathered, false);
            gathered = bytes;
        }

        /** Moves the gathered bytes to the dispatched request. */
        public void dispatched() {
            request += gathered;
            gathered = 0;
        }

        /** Sets the bytes of the dispatched request, received or derived from it. */
        public void request(long bytes) {
            add(bytes - request, false);
            request = bytes;
        }

        /** Sets where to ask what is still held of the dispatched request, in bytes. */
        public void requestHeld(LongSupplier bytes) {
            if (budget != null) {
                held = bytes;
            }
        }

        /** Sets the bytes of the response that were received and not written. */
        public void response(long bytes) {
            if (bytes - response > SMALL_CALL && request > SMALL_CALL && held != null) {
                // It was sent: usually nothing of it is left.
                request(Math.min(request, held.getAsLong()));
            }
            add(bytes - response, true);
            response = bytes;
        }

        /** Sets the bytes of the response that were written and not sent: written already, they are not refused. */
        public void queued(long bytes) {
            if (budget != null && !released) {
                budget.used.addAndGet(bytes - response);
                response = bytes;
            }
        }

        /** Sets the bytes of what is read out of the response to be checked or written. */
        public void source(long bytes) {
            add(bytes - source, true);
            source = bytes;
        }

        /**
         * The response was received completely and is written as the client reads it: the received bytes are not held
         * any more.
         *
         * @param bytes size of what it is written from, if not counted as {@link #source} already
         */
        public void written(long bytes) {
            long held = Math.max(source, bytes);
            add(held - source - response, true);
            source = held;
            response = 0;
        }

        private void add(long more, boolean executed) {
            if (budget == null || released || more == 0) {
                return;
            }
            long total = gathered + request + response + source + more;
            if (more < 0) {
                budget.used.addAndGet(more);
            } else if (!budget.reserved(more, total, executed ? more <= SMALL_RESPONSE : total < SmallParts.SMALL)) {
                throw executed
                        ? OipException.responseDropped(ErrorCode.OVERLOADED, budget.full(), SOON)
                        : budget.refusal(total);
            }
        }

        /** Releases everything; later calls have no effect. Idempotent. */
        public void release() {
            add(-gathered - request - response - source, true);
            released = budget != null;
        }
    }
}

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
 * How many bytes the calls of the whole gateway may hold: of requests while they are gathered, parsed and sent, of answers
 * until they are written. It is counted as bytes come; a call for which no more fit is refused, so that those before it are
 * served. For all event loops.
 */
public final class MemoryBudget {
    private static final Duration SOON = Duration.ofSeconds(1);

    /** What buffers take is looked at when so many more bytes are held, or fewer. */
    private static final int LOOK_BITS = 16;

    private static final long LOOK_NANOS = 1_000_000;
    /** A part of the bytes that only small calls may have, so that large ones never keep them out: one of so many. */
    private static final int SMALL_CALLS = 16;
    /** What a small call holds at most, in bytes. */
    private static final long SMALL_CALL = 64 << 10;

    /** Health and errors are told however much buffers take, in bytes. */
    private static final long LIGHT_ANSWER = 16 << 10;

    private final AtomicLong used = new AtomicLong();
    private final Counter refused;
    private final LongSupplier pinned;
    private volatile long most;
    private volatile long mostPinned = Long.MAX_VALUE;
    private volatile boolean crowded;
    private volatile long lookedNanos = System.nanoTime() - LOOK_NANOS;

    /** @param most bytes */
    public MemoryBudget(long most, MeterRegistry meters) {
        this(most, () -> 0, meters);
    }

    /**
     * As {@link #MemoryBudget(long, MeterRegistry)}.
     *
     * @param pinned the bytes that buffers in use take, filled or not
     */
    public MemoryBudget(long most, LongSupplier pinned, MeterRegistry meters) {
        this.most = most;
        this.pinned = pinned;
        this.refused = Counter.builder("isthmus.memory.refused")
                .description("Calls refused because all calls held as many bytes as they may.")
                .register(meters);
        Gauge.builder("isthmus.memory.used", used, AtomicLong::get)
                .description("Bytes that calls hold of their requests and answers.")
                .baseUnit("bytes")
                .register(meters);
        Gauge.builder("isthmus.memory.limit", this, budget -> budget.most)
                .description("Bytes that calls may hold.")
                .baseUnit("bytes")
                .register(meters);
        Gauge.builder("isthmus.buffers.pinned", pinned, LongSupplier::getAsLong)
                .description("Memory outside the heap that buffers in use take, filled or not")
                .baseUnit("bytes")
                .register(meters);
    }

    /**
     * It is as much from now on; what is held beyond it stays.
     *
     * @param pinnedBytes nothing more is held while buffers in use take more than so many bytes, filled or not
     */
    public void limit(long bytes, long pinnedBytes) {
        most = bytes;
        mostPinned = pinnedBytes;
    }

    /** What a call holds: nothing yet. */
    public MemoryReservation hold() {
        return new MemoryReservation(this);
    }

    /**
     * @param bytes more than the call held
     * @param total what it holds then
     * @param light so little that it keeps no buffer worth speaking of: it fits as long as its bytes do
     */
    private boolean reserved(long bytes, long total, boolean light) {
        long room = total > SMALL_CALL ? most - most / SMALL_CALLS : most;
        long before = used.get();
        if (light || !crowded(before, bytes)) {
            while (before + bytes <= room) {
                if (used.compareAndSet(before, before + bytes)) {
                    return true;
                }
                before = used.get();
            }
        }
        refused.increment();
        return false;
    }

    /** Whether buffers take too much. It is looked at now and then: the allocator has to add it up. */
    private boolean crowded(long before, long bytes) {
        if (crowded || before >> LOOK_BITS != (before + bytes) >> LOOK_BITS) {
            long now = System.nanoTime();
            if (now - lookedNanos >= LOOK_NANOS) {
                lookedNanos = now;
                crowded = pinned.getAsLong() > mostPinned;
            }
        }
        return crowded;
    }

    private String full() {
        if (crowded) {
            return "memory: all buffers together may take " + mostPinned + " bytes, and there is no room for more now";
        }
        return "memory: all calls together may hold " + most + " bytes, and there is no room for more now";
    }

    /**
     * The bytes that one call of a client holds, in four parts: what ingress has gathered of its request, what of the request
     * is under way, what of the answer has come and was not written, and what the answer is made from. Each is set to what it
     * is now; where it grows and does not fit, OVERLOADED is thrown, and what was held before is still counted. Used by one
     * thread.
     */
    public static final class MemoryReservation {
        /** Of a call that no client made. */
        public static final MemoryReservation UNCOUNTED = new MemoryReservation(null);

        private final @Nullable MemoryBudget budget;
        private long gathered;
        private long request;
        private long answer;
        private long source;
        private boolean over;

        private MemoryReservation(@Nullable MemoryBudget budget) {
            this.budget = budget;
        }

        /** Bytes of the request that have come and were not dispatched. */
        public void gathered(long bytes) {
            add(bytes - gathered, false);
            gathered = bytes;
        }

        /** What was gathered is part of the request that is under way from now on. */
        public void dispatched() {
            request += gathered;
            gathered = 0;
        }

        /** Bytes of the request that has been dispatched, or of what was made of it. */
        public void request(long bytes) {
            add(bytes - request, false);
            request = bytes;
        }

        /** Bytes of the answer that have come and were not written. */
        public void answer(long bytes) {
            add(bytes - answer, true);
            answer = bytes;
        }

        /** Bytes of what is read out of the answer, and is looked at or written. */
        public void source(long bytes) {
            add(bytes - source, true);
            source = bytes;
        }

        /**
         * The answer has come as a whole, and is written as the client takes it: what has come is held no more.
         *
         * @param bytes of what it is written from, as far as it is not counted as {@link #source} already
         */
        public void written(long bytes) {
            long from = Math.max(source, bytes);
            add(from - source - answer, true);
            source = from;
            answer = 0;
        }

        private void add(long more, boolean executed) {
            if (budget == null || over || more == 0) {
                return;
            }
            long total = gathered + request + answer + source + more;
            if (more < 0) {
                budget.used.addAndGet(more);
            } else if (!budget.reserved(more, total, executed ? more <= LIGHT_ANSWER : total < SmallParts.SMALL)) {
                throw executed
                        ? OipException.answerDropped(ErrorCode.OVERLOADED, budget.full(), SOON)
                        : OipException.refused(ErrorCode.OVERLOADED, budget.full(), SOON);
            }
        }

        /** The call holds nothing any more, and nothing that it says counts from now on. Idempotent. */
        public void giveBack() {
            add(-gathered - request - answer - source, true);
            over = budget != null;
        }
    }
}

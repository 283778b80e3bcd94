package dev.isthmus.gateway.limit;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How many bytes the requests of the whole gateway may hold while they are gathered, parsed and answered. It is counted as
 * bytes come; a request for which no more fit is refused, so that those before it are served. For all event loops.
 */
public final class MemoryBudget {
    private static final Duration SOON = Duration.ofSeconds(1);

    private final AtomicLong used = new AtomicLong();
    private final Counter refused;
    private volatile long most;

    /** @param most bytes */
    public MemoryBudget(long most, MeterRegistry meters) {
        this.most = most;
        this.refused = Counter.builder("isthmus.memory.refused")
                .description("Requests refused because all requests held as many bytes as they may.")
                .register(meters);
        Gauge.builder("isthmus.memory.used", used, AtomicLong::get)
                .description("Bytes that requests hold while they are gathered, parsed and answered.")
                .baseUnit("bytes")
                .register(meters);
        Gauge.builder("isthmus.memory.limit", this, budget -> budget.most)
                .description("Bytes that requests may hold.")
                .baseUnit("bytes")
                .register(meters);
    }

    /** It is as much from now on; what is held beyond it stays. */
    public void limit(long bytes) {
        most = bytes;
    }

    /** What a request holds: nothing yet. */
    public Hold hold() {
        return new Hold();
    }

    private void reserve(long bytes) {
        long before = used.get();
        while (before + bytes <= most) {
            if (used.compareAndSet(before, before + bytes)) {
                return;
            }
            before = used.get();
        }
        refused.increment();
        throw OipException.refused(
                ErrorCode.OVERLOADED, "all requests together may hold " + most + " bytes, and hold no more now", SOON);
    }

    /** The bytes of one request. Used by one thread. */
    public final class Hold {
        private long held;
        private boolean over;

        private Hold() {}

        /**
         * The request holds so many bytes now.
         *
         * @throws OipException OVERLOADED where so many do not fit; what it held before is still counted
         */
        public void holds(long bytes) {
            if (over || bytes == held) {
                return;
            }
            if (bytes > held) {
                reserve(bytes - held);
            } else {
                used.addAndGet(bytes - held);
            }
            held = bytes;
        }

        /** The request holds nothing any more. Idempotent. */
        public void giveBack() {
            over = true;
            used.addAndGet(-held);
            held = 0;
        }
    }
}

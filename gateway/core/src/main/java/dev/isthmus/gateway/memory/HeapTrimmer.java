package dev.isthmus.gateway.memory;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects the heap while hardly any client calls, if its old generation has much garbage: of replaced configurations,
 * for instance. The serial collector lets the old generation grow up to the limit of the heap before it collects it. G1
 * does so earlier, and is left alone. Not thread-safe.
 */
public final class HeapTrimmer {
    private static final Logger LOG = LoggerFactory.getLogger(HeapTrimmer.class);
    /** In bytes. With less, a collection gains little. */
    static final long MIN_GARBAGE = 32L << 20;

    private static final Duration PERIOD = Duration.ofSeconds(10);
    /** That end in a period in which hardly any client calls: requests for the gateway's health, for instance. */
    static final int QUIET_CALLS = 20;

    private final BooleanSupplier busy;
    private final LongSupplier ended;
    private final LongSupplier used;
    private final LongSupplier live;
    private final Runnable collection;
    private long endedBefore;

    /**
     * @param busy whether a client calls
     * @param ended how many calls have ended
     * @param used bytes of the old generation
     * @param live bytes of it that its last collection left
     */
    HeapTrimmer(BooleanSupplier busy, LongSupplier ended, LongSupplier used, LongSupplier live, Runnable collection) {
        this.busy = busy;
        this.ended = ended;
        this.used = used;
        this.live = live;
        this.collection = collection;
    }

    /**
     * Starts a thread for the process, if the serial collector is in use.
     *
     * @param busy whether a client calls; must be thread-safe, as the other
     * @param ended how many calls have ended
     */
    public static void start(BooleanSupplier busy, LongSupplier ended) {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Tenured Gen")) {
                HeapTrimmer trimmer = of(pool, busy, ended);
                Thread.ofPlatform().daemon().name("isthmus-heap").start(trimmer::run);
            }
        }
    }

    static HeapTrimmer of(MemoryPoolMXBean pool, BooleanSupplier busy, LongSupplier ended) {
        return new HeapTrimmer(
                busy,
                ended,
                () -> pool.getUsage().getUsed(),
                () -> pool.getCollectionUsage().getUsed(),
                System::gc);
    }

    private void run() {
        try {
            while (true) {
                Thread.sleep(PERIOD);
                check();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Collects if garbage exceeds live objects and the minimum, with no call, and hardly one since the last check. */
    void check() {
        long calls = ended.getAsLong() - endedBefore;
        endedBefore += calls;
        long kept = live.getAsLong();
        long before = used.getAsLong();
        if (before - kept > Math.max(MIN_GARBAGE, kept) && calls <= QUIET_CALLS && !busy.getAsBoolean()) {
            long start = System.nanoTime();
            collection.run();
            LOG.debug(
                    "the heap was collected in {} ms, as no call was under way: {} of {} MiB are left",
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start),
                    used.getAsLong() >> 20,
                    before >> 20);
        }
    }
}

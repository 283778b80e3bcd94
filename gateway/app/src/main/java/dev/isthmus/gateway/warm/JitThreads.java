package dev.isthmus.gateway.warm;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/** The JIT compiler's threads, of which only what they take of the processor is to be seen. */
final class JitThreads {
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Below this share of a processor they are at rest. */
    private static final double REST = 0.3;

    private JitThreads() {}

    /**
     * Waits until they have done what they were given: where processors are few, requests sent meanwhile would take half of
     * their time. Not for long, because the gateway may be serving, too.
     *
     * @param endNanos as {@link System#nanoTime()}
     */
    static void await(long endNanos) throws InterruptedException {
        var process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long end = Math.min(endNanos, System.nanoTime() + MOST_NANOS);
        long time = System.nanoTime();
        long used = process.getProcessCpuTime();
        double share;
        do {
            TimeUnit.NANOSECONDS.sleep(LOOK_NANOS);
            long timeNow = System.nanoTime();
            long usedNow = process.getProcessCpuTime();
            share = (double) (usedNow - used) / (timeNow - time);
            time = timeNow;
            used = usedNow;
        } while (share > REST && time < end);
    }
}

package dev.isthmus.gateway.warm;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/** Observes the JIT compiler threads by the CPU time of the process. */
final class JitThreads {
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Below this share of a processor they are considered idle. */
    private static final double IDLE_SHARE = 0.3;

    private JitThreads() {}

    /**
     * Waits until they are idle: on few processors, requests sent meanwhile would compete with them for CPU time. Waits
     * only briefly, because the gateway may be serving, too.
     */
    static void await(TimeLimit limit) throws InterruptedException {
        var process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long time = System.nanoTime();
        long end = time + MAX_WAIT_NANOS;
        long used = process.getProcessCpuTime();
        double share;
        do {
            TimeUnit.NANOSECONDS.sleep(SAMPLE_NANOS);
            long timeNow = System.nanoTime();
            long usedNow = process.getProcessCpuTime();
            share = (double) (usedNow - used) / (timeNow - time);
            time = timeNow;
            used = usedNow;
        } while (share > IDLE_SHARE && time < end && !limit.reached());
    }
}

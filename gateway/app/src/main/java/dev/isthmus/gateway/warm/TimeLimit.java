package dev.isthmus.gateway.warm;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/** When a warm-up must end: after a time, or when the process has used an amount of processor time. Thread-safe. */
final class TimeLimit {
    private final OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final long end;
    private final long cpuEnd;

    /**
     * Begins now.
     *
     * @param time from now on
     * @param cpu of all threads of the process, from now on
     */
    TimeLimit(Duration time, Duration cpu) {
        end = System.nanoTime() + time.toNanos();
        cpuEnd = process.getProcessCpuTime() + cpu.toNanos();
    }

    /** The remaining time; 0 or less if none remains, or no processor time. */
    long remainingNanos() {
        return process.getProcessCpuTime() >= cpuEnd ? 0 : end - System.nanoTime();
    }

    boolean reached() {
        return remainingNanos() <= 0;
    }
}

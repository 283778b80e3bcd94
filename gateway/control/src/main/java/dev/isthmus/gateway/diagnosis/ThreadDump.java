package dev.isthmus.gateway.diagnosis;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;

/** The stacks of all platform threads, as text. */
final class ThreadDump {
    private static final int MAX_FRAMES = 128;

    private ThreadDump() {}

    /** The dump; stops all threads for some milliseconds. */
    static String text() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        ThreadInfo[] all = threads.dumpAllThreads(
                threads.isObjectMonitorUsageSupported(), threads.isSynchronizerUsageSupported(), MAX_FRAMES);
        Arrays.sort(all, Comparator.comparing(ThreadInfo::getThreadName));
        StringBuilder out = new StringBuilder(64 << 10);
        long[] deadlocked = threads.findDeadlockedThreads();
        out.append(all.length).append(" threads; deadlocked: ");
        out.append(deadlocked == null ? "none" : Arrays.toString(deadlocked)).append('\n');
        for (ThreadInfo each : all) {
            append(out, each, threads);
        }
        return out.toString();
    }

    private static void append(StringBuilder out, ThreadInfo thread, ThreadMXBean threads) {
        out.append("\n\"").append(thread.getThreadName()).append("\" #").append(thread.getThreadId());
        out.append(thread.isDaemon() ? " daemon" : "");
        long cpu = threads.isThreadCpuTimeSupported() ? threads.getThreadCpuTime(thread.getThreadId()) : -1;
        if (cpu >= 0) {
            out.append(" cpu=").append(TimeUnit.NANOSECONDS.toMillis(cpu)).append("ms");
        }
        out.append(' ').append(thread.getThreadState()).append('\n');
        LockInfo awaited = thread.getLockInfo();
        if (awaited != null) {
            out.append("    waits for ").append(awaited);
            out.append(thread.getLockOwnerName() == null ? "" : " of \"" + thread.getLockOwnerName() + '"');
            out.append('\n');
        }
        StackTraceElement[] stack = thread.getStackTrace();
        for (int depth = 0; depth < stack.length; depth++) {
            out.append("    at ").append(stack[depth]).append('\n');
            for (MonitorInfo monitor : thread.getLockedMonitors()) {
                if (monitor.getLockedStackDepth() == depth) {
                    out.append("    holds ").append(monitor).append('\n');
                }
            }
        }
        for (LockInfo held : thread.getLockedSynchronizers()) {
            out.append("    holds ").append(held).append('\n');
        }
    }
}

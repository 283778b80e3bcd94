package dev.isthmus.bench.local;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Measures heap allocations of all threads of this process. */
final class Heap {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Heap() {}

    /** Work that is repeated. */
    interface Work {
        void run(int times) throws Exception;
    }

    /** Bytes allocated by one repetition, on average. */
    static double of(Work work, int times) throws Exception {
        work.run(times);
        long before = THREADS.getTotalThreadAllocatedBytes();
        work.run(times);
        return (double) (THREADS.getTotalThreadAllocatedBytes() - before) / times;
    }
}

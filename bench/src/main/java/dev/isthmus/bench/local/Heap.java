package dev.isthmus.bench.local;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Bytes that all threads of this process have allocated on the heap. */
final class Heap {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Heap() {}

    /** Something that is done so many times. */
    interface Work {
        void run(int times) throws Exception;
    }

    /** Bytes that one of it allocates. */
    static double of(Work work, int times) throws Exception {
        work.run(times);
        long before = THREADS.getTotalThreadAllocatedBytes();
        work.run(times);
        return (double) (THREADS.getTotalThreadAllocatedBytes() - before) / times;
    }
}

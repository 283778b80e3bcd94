package dev.isthmus.gateway.flow;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What the event loops of a gateway have taken of the heap, whatever became of it. */
final class LoopHeap {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final String LOOPS = "isthmus-loop";

    private LoopHeap() {}

    /** Bytes since the loops were started. */
    static long taken() {
        long taken = 0;
        for (var thread : THREADS.dumpAllThreads(false, false, 0)) {
            if (thread.getThreadName().startsWith(LOOPS)) {
                taken += THREADS.getThreadAllocatedBytes(thread.getThreadId());
            }
        }
        return taken;
    }
}

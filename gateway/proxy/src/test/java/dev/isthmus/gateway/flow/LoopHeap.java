package dev.isthmus.gateway.flow;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The heap allocated by a gateway's event loops, including garbage. */
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

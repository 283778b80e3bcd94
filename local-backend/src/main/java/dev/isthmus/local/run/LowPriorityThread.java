package dev.isthmus.local.run;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lowers the priority of threads that run models below event loops, which need a core for microseconds without delay.
 * Java's thread priorities have no effect on Linux, where the nice value is per thread; elsewhere it is per process and
 * left unchanged.
 */
public final class LowPriorityThread {
    /** Competing with a thread of nice value 0, it gets about a tenth of a core; without competition, all of it. */
    static final int NICE = 10;

    private static final Logger LOG = LoggerFactory.getLogger(LowPriorityThread.class);
    private static final int PRIO_PROCESS = 0;
    private static final int CALLING_THREAD = 0;

    private LowPriorityThread() {}

    /** Whether {@link #lower()} has an effect on this system. */
    static boolean supported() {
        return System.getProperty("os.name", "").toLowerCase(Locale.ROOT).contains("linux");
    }

    /** Lowers the calling thread's priority; a failure is only logged. */
    @SuppressWarnings("restricted") // ONNX Runtime requires native access anyway
    public static void lower() {
        if (!supported()) {
            return;
        }
        try {
            Linker linker = Linker.nativeLinker();
            MethodHandle setpriority = linker.downcallHandle(
                    linker.defaultLookup().find("setpriority").orElseThrow(),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
            int failed = (int) setpriority.invokeExact(PRIO_PROCESS, CALLING_THREAD, NICE);
            LOG.debug("{} has a lower priority: {}", Thread.currentThread().getName(), failed == 0);
        } catch (Throwable refused) {
            LOG.warn("the priority of threads that run models cannot be lowered: {}", refused.toString());
        }
    }
}

package dev.isthmus.local.run;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * That a thread which runs models lets others go first: event loops need a core for microseconds, and now. Java's own
 * priorities do nothing on Linux, where "nice" is a thread's; elsewhere it is the whole process's, and left alone.
 */
final class LowPriorityThread {
    /** Beside a thread of 0 it has a tenth of a core that both want, and all of one that nobody else does. */
    static final int NICE = 10;

    private static final Logger LOG = LoggerFactory.getLogger(LowPriorityThread.class);
    private static final int PRIO_PROCESS = 0;
    private static final int CALLING_THREAD = 0;

    private LowPriorityThread() {}

    /** Whether {@link #lower()} does anything here. */
    static boolean possible() {
        return System.getProperty("os.name", "").toLowerCase(Locale.ROOT).contains("linux");
    }

    /** Lowers the calling thread. Where that is refused the thread goes on as it is. */
    @SuppressWarnings("restricted") // ONNX Runtime needs native access, too.
    static void lower() {
        if (!possible()) {
            return;
        }
        try {
            Linker linker = Linker.nativeLinker();
            MethodHandle setpriority = linker.downcallHandle(
                    linker.defaultLookup().find("setpriority").orElseThrow(),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
            int failed = (int) setpriority.invokeExact(PRIO_PROCESS, CALLING_THREAD, NICE);
            LOG.debug("{} is nice: {}", Thread.currentThread().getName(), failed == 0);
        } catch (Throwable refused) {
            LOG.warn("threads that run models are no lower than others: {}", refused.toString());
        }
    }
}

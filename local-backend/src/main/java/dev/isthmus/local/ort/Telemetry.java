package dev.isthmus.local.ort;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ONNX Runtime's reports to its makers: since 1.29 also the library for Linux has a client for them, which is on. It reports
 * the process, each session and each run that fails, by threads of its own, and keeps in memory what it has not sent. Nothing
 * of the gateway calls home, so it is turned off; who sets ORT_DISABLE_TELEMETRY to 0 in the gateway's environment has it.
 */
@SuppressWarnings("restricted") // Java cannot change its own process's environment
final class Telemetry {
    /** Read by the library when it is loaded. */
    static final String VARIABLE = "ORT_DISABLE_TELEMETRY";

    private static final Logger LOG = LoggerFactory.getLogger(Telemetry.class);
    private static final int KEEP = 0;

    private Telemetry() {}

    /** Before the library is loaded: nothing is sent at all. Where it cannot be said like this, {@link #off} remains. */
    static void forbid() {
        Linker linker = Linker.nativeLinker();
        Optional<MemorySegment> setenv = linker.defaultLookup().find("setenv");
        if (setenv.isEmpty()) {
            return;
        }
        MethodHandle set = linker.downcallHandle(
                setenv.get(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            int failed = (int) set.invokeExact(arena.allocateFrom(VARIABLE), arena.allocateFrom("1"), KEEP);
            LOG.debug("{} is set: {}", VARIABLE, failed == 0);
        } catch (Throwable refused) {
            LOG.warn("ONNX Runtime may report to its makers when it starts: {}", refused.toString());
        }
    }

    /** From now on nothing is reported, unless it was wanted. */
    static void off(OrtEnvironment environment) {
        if ("0".equals(System.getenv(VARIABLE))) {
            return;
        }
        try {
            environment.setTelemetry(false);
        } catch (OrtException refused) {
            LOG.warn("ONNX Runtime may report to its makers", refused);
        }
    }
}

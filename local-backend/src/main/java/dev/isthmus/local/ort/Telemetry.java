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
 * Disables ONNX Runtime's telemetry. Since 1.29 the Linux library also has a telemetry client, enabled by default. It
 * reports the process, each session and each failed run to the vendor on its own threads, and buffers unsent reports in
 * memory. The environment variable ORT_DISABLE_TELEMETRY=0 keeps telemetry enabled.
 */
@SuppressWarnings("restricted") // calls setenv, which Java does not offer
final class Telemetry {
    /** Read by the library when it is loaded. */
    static final String VARIABLE = "ORT_DISABLE_TELEMETRY";

    private static final Logger LOG = LoggerFactory.getLogger(Telemetry.class);
    private static final int KEEP = 0;

    private Telemetry() {}

    /**
     * Disables telemetry before the library is loaded, so that nothing is sent at all. If that is not possible,
     * {@code disable} still disables it later.
     */
    static void disableByEnvironment() {
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
            LOG.warn("ONNX Runtime may send telemetry when it starts: {}", refused.toString());
        }
    }

    /** Disables telemetry from now on, unless the environment variable enables it. */
    static void disable(OrtEnvironment environment) {
        if ("0".equals(System.getenv(VARIABLE))) {
            return;
        }
        try {
            environment.setTelemetry(false);
        } catch (OrtException refused) {
            LOG.warn("ONNX Runtime may send telemetry; set {}=1 to prevent it: {}", VARIABLE, refused.toString());
        }
    }
}

package dev.isthmus.local.ort;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collections;

/**
 * Checks ONNX Runtime's jar on the class path. A distribution may have none. With two of them, for the CPU and for CUDA,
 * it is undefined which libraries are loaded.
 */
public final class OrtJar {
    private static final String ENVIRONMENT = "ai/onnxruntime/OrtEnvironment.class";

    private OrtJar() {}

    /** Whether there is one. */
    public static boolean present(ClassLoader classPath) {
        return classPath.getResource(ENVIRONMENT) != null;
    }

    /** @throws OipException FAILED_PRECONDITION if there are several */
    static void requireOne(ClassLoader classPath) {
        try {
            int builds = Collections.list(classPath.getResources(ENVIRONMENT)).size();
            if (builds > 1) {
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        builds + " builds of ONNX Runtime are on the class path, one is expected: onnxruntime or"
                                + " onnxruntime_gpu");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.isthmus.local.ort;

import ai.djl.engine.Engine;
import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ONNX Runtime, started through DJL, once in the process. DJL must come first: it makes the process's only environment, and
 * fails where there is one already. DJL calls home at its first use unless it is told that it is offline.
 *
 * @param usable whether it passed {@link SelfTest}; without that no model is loaded
 */
record OrtRuntime(OrtEnvironment environment, boolean usable) {
    private static final Logger LOG = LoggerFactory.getLogger(OrtRuntime.class);

    /** Made by whoever needs it first. */
    private static final class Started {
        static final OrtRuntime RUNTIME = start();
    }

    static OrtRuntime get() {
        return Started.RUNTIME;
    }

    private static OrtRuntime start() {
        OrtJar.requireOne(OrtRuntime.class.getClassLoader());
        if (System.getProperty("ai.djl.offline") == null) {
            System.setProperty("ai.djl.offline", "true");
        }
        // Sessions bring their own threads; the engine's global pools are not used.
        System.setProperty("ai.djl.onnxruntime.num_threads", "1");
        System.setProperty("ai.djl.onnxruntime.num_interop_threads", "1");
        Telemetry.forbid();
        DeepStack.call(() -> Engine.getEngine("OnnxRuntime"));
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        Telemetry.off(environment);
        ProcessEnd.hold(environment);
        boolean usable = SelfTest.passed(environment);
        LOG.info("ONNX Runtime {}", environment.getVersion());
        return new OrtRuntime(environment, usable);
    }

    /** ONNX Runtime's version. DJL names another: the one that it was built with. */
    String version() {
        return environment.getVersion();
    }

    /** @throws OipException FAILED_PRECONDITION where models cannot be run with this library */
    void requireUsable() {
        if (!usable) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "the local backend runs models with ONNX Runtime 1.29, and not with the " + version()
                            + " that is here: it failed the self-test at the start");
        }
    }
}

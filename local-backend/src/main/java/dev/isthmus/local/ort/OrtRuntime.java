package dev.isthmus.local.ort;

import ai.djl.engine.Engine;
import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ONNX Runtime, started through DJL, once per process. DJL must start it: it creates the process's only environment,
 * and fails if there is one already. DJL connects to its vendor at its first use unless it is set offline.
 *
 * @param usable whether it passed {@link SelfTest}; otherwise no model is loaded
 */
record OrtRuntime(OrtEnvironment environment, boolean usable) {
    private static final Logger LOG = LoggerFactory.getLogger(OrtRuntime.class);

    /** Initialized on first use. */
    private static final class Started {
        static final OrtRuntime RUNTIME = start();
    }

    /** @throws OipException FAILED_PRECONDITION if it cannot be started */
    static OrtRuntime get() {
        try {
            return Started.RUNTIME;
        } catch (LinkageError e) {
            LOG.error("ONNX Runtime cannot be started", e);
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION, "ONNX Runtime cannot be started; the log says why", e);
        }
    }

    private static OrtRuntime start() {
        OrtJar.requireOne(OrtRuntime.class.getClassLoader());
        if (System.getProperty("ai.djl.offline") == null) {
            System.setProperty("ai.djl.offline", "true");
        }
        // Sessions have their own threads; the engine's global pools are not used.
        System.setProperty("ai.djl.onnxruntime.num_threads", "1");
        System.setProperty("ai.djl.onnxruntime.num_interop_threads", "1");
        Telemetry.disableByEnvironment();
        DeepStackThread.call(() -> Engine.getEngine("OnnxRuntime"));
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        Telemetry.disable(environment);
        ProcessEnd.retain(environment);
        boolean usable = SelfTest.passed(environment);
        LOG.info("ONNX Runtime {}", environment.getVersion());
        return new OrtRuntime(environment, usable);
    }

    /** ONNX Runtime's version. DJL reports the one that it was built with. */
    String version() {
        return environment.getVersion();
    }

    /** @throws OipException FAILED_PRECONDITION if models cannot be run with this library */
    void requireUsable() {
        if (!usable) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "the local backend supports ONNX Runtime 1.29; the installed " + version()
                            + " failed the self-test at the start");
        }
    }

    /**
     * Calls a supplier on a thread with a deep stack. To create its environment, ONNX Runtime 1.29 uses a few hundred bytes
     * of stack per character of the process's command line: 4,000 characters, such as a long class path, overflow a stack
     * of 1 MiB, and the process ends with SIGSEGV and no message. Only the used part of the stack takes memory.
     */
    private static final class DeepStackThread {
        /** Enough for about 500,000 characters. */
        private static final long BYTES = 256L * 1024 * 1024;

        private DeepStackThread() {}

        /** @throws IllegalStateException if the supplier fails */
        static <T> T call(Supplier<T> supplier) {
            try {
                return CompletableFuture.supplyAsync(supplier, DeepStackThread::start)
                        .join();
            } catch (CompletionException e) {
                throw new IllegalStateException("ONNX Runtime cannot be started", e.getCause());
            }
        }

        private static void start(Runnable work) {
            Thread thread = new Thread(null, work, "isthmus-local-start", BYTES);
            thread.setDaemon(true);
            thread.start();
        }
    }
}

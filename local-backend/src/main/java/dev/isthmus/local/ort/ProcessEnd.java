package dev.isthmus.local.ort;

import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuts down the process while models are loading. ONNX Runtime's Java API releases the environment in its own shutdown
 * hook, concurrently with all others, and unloading the library frees the rest after all hooks: a thread that is still
 * inside the library then crashes the process. Therefore an additional reference keeps the environment until the
 * library is unloaded, and a hook waits for active loads. Closing the backend waits for runs.
 *
 * <p>The state is static because the environment is one per process.
 */
public final class ProcessEnd {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessEnd.class);
    private static final int TIMEOUT_SECONDS = 10;

    /** The active loads and the process itself, which deregisters at shutdown. */
    private static final Phaser LOADS = new Phaser(1);

    private static volatile boolean ending;

    private ProcessEnd() {}

    /** Retains the environment until the library is unloaded. Must be called once, before it is used. */
    static void retain(OrtEnvironment environment) {
        try {
            if (!OrtAccess.retainEnvironment(environment)) {
                LOG.warn("ONNX Runtime has created a second environment; the process may crash at shutdown");
            }
        } catch (Throwable e) {
            LOG.warn(
                    "ONNX Runtime's environment cannot be retained; the process may crash at shutdown: {}",
                    e.toString());
        }
        Runtime.getRuntime().addShutdownHook(new Thread(ProcessEnd::await, "isthmus-local-end"));
    }

    /**
     * Registers a load.
     *
     * @throws OipException UNAVAILABLE during shutdown
     */
    public static void enter() {
        boolean terminated = LOADS.register() < 0;
        if (terminated || ending) {
            if (!terminated) {
                leave();
            }
            throw new OipException(ErrorCode.UNAVAILABLE, "the process is shutting down and loads no more models");
        }
    }

    /** Deregisters a load. */
    public static void leave() {
        LOADS.arriveAndDeregister();
    }

    private static void await() {
        ending = true;
        // The phaser terminates when all parties have deregistered.
        int phase = LOADS.arriveAndDeregister();
        try {
            LOADS.awaitAdvanceInterruptibly(phase, TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            LOG.warn("a model is still loading after {} s; the process shuts down anyway", TIMEOUT_SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

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
 * How the process ends while models are loaded. ONNX Runtime's Java API lets go of the environment in a shutdown hook of its
 * own, beside all other hooks, and the library's end frees the rest when all hooks are done: a thread that is inside the
 * library then ends the process by a signal. So the environment is held once more, which leaves it to the library's end, and
 * a hook waits for the loads under way. Runs are waited for by whoever closes the backend.
 *
 * <p>What is static here is as much one in the process as the environment is.
 */
public final class ProcessEnd {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessEnd.class);
    private static final int PATIENCE_SECONDS = 10;

    /** Loads under way, and the process itself, which leaves when it ends. */
    private static final Phaser LOADS = new Phaser(1);

    private static volatile boolean ending;

    private ProcessEnd() {}

    /** Keeps the environment until the library's end. To be called once, before it is used. */
    static void hold(OrtEnvironment environment) {
        try {
            if (!OrtAccess.holdOnceMore(environment)) {
                LOG.warn("ONNX Runtime has made a second environment; the end of the process may be untidy");
            }
        } catch (Throwable e) {
            LOG.warn("ONNX Runtime's environment cannot be held; the end of the process may be untidy", e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(ProcessEnd::await, "isthmus-local-end"));
    }

    /**
     * A load begins.
     *
     * @throws OipException UNAVAILABLE when the process is ending
     */
    public static void enter() {
        boolean over = LOADS.register() < 0;
        if (over || ending) {
            if (!over) {
                leave();
            }
            throw new OipException(ErrorCode.UNAVAILABLE, "the process is ending: no model is loaded any more");
        }
    }

    /** A load has ended. */
    public static void leave() {
        LOADS.arriveAndDeregister();
    }

    private static void await() {
        ending = true;
        // When all have left, the phaser is terminated.
        int phase = LOADS.arriveAndDeregister();
        try {
            LOADS.awaitAdvanceInterruptibly(phase, PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            LOG.warn("a model is still being loaded after {} s; the process ends all the same", PATIENCE_SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

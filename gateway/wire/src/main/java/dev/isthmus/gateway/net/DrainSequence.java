package dev.isthmus.gateway.net;

import dev.isthmus.gateway.net.ConnectionDrain.DrainStep;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The steps of a gateway from "not ready" to its last response.
 *
 * @param calls number of active calls
 */
public record DrainSequence(ConnectionDrain connections, LongSupplier calls, Runnable stopAccepting) {
    private static final Logger LOG = LoggerFactory.getLogger(DrainSequence.class);
    /** Time for clients to read their last responses after the timeout. */
    private static final Duration LAST_RESPONSES = Duration.ofSeconds(2);

    /** Returns when all connections are closed, soon after the timeout, or soon after {@link #end}. */
    public void run(String why, Duration delay, Duration timeout) throws InterruptedException {
        LOG.info("draining: {}; not ready, serving for {} ms", why, delay.toMillis());
        if (connections.awaitEnding(delay)) {
            return;
        }
        stopAccepting.run();
        LOG.info(
                "draining: accepting no connections; open connections: {}; active calls: {}; timeout: {} ms",
                connections.open(),
                calls.getAsLong(),
                timeout.toMillis());
        connections.start(DrainStep.DRAINING);
        if (!connections.awaitClosed(timeout)) {
            LOG.warn(
                    "draining: the timeout has expired; open connections: {}; failing active calls: {}; raise drain.timeout"
                            + " if calls may last longer",
                    connections.open(),
                    calls.getAsLong());
            end();
            connections.awaitClosed(LAST_RESPONSES);
        }
    }

    /** Fails all active calls and closes all connections. */
    public void end() {
        connections.start(DrainStep.ENDING);
    }
}

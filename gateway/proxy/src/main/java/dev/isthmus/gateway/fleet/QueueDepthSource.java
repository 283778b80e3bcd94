package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import java.util.function.LongConsumer;

/** Asks servers how many requests wait in them. */
@FunctionalInterface
public interface QueueDepthSource {
    /** What is answered where the server cannot say it. */
    long UNKNOWN = -1;

    /**
     * Asks once.
     *
     * @param metrics where the server tells its metrics; no name
     * @param answer called exactly once, within a bounded time
     */
    void ask(Endpoint metrics, LongConsumer answer);
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import java.util.function.LongConsumer;

/** Reads how many requests are queued in a server. */
@FunctionalInterface
public interface QueueDepthSource {
    /** The queue depth could not be read. */
    long UNKNOWN = -1;

    /**
     * Reads the queue depth once.
     *
     * @param metrics address of the server's metrics endpoint, never a host name
     * @param authority host and port of the server, whose host may be a name
     * @param callback called exactly once, within a bounded time
     */
    void read(Endpoint metrics, String authority, LongConsumer callback);
}

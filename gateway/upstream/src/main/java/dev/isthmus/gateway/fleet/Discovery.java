package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Resolves names to servers and refreshes the result periodically. */
public interface Discovery {

    /**
     * A server that was found.
     *
     * @param address an IP address and port, never a host name
     * @param authority host and port to send as the authority
     */
    record DiscoveredServer(Endpoint address, String authority) {}

    /** Names that are resolved periodically until this is closed. */
    interface Registration extends AutoCloseable {
        /** Completes when each name has been resolved or has failed to resolve once. */
        CompletableFuture<Void> first();

        /** The number of look-ups that succeeded or failed. */
        default long lookUps(boolean success) {
            return 0;
        }

        @Override
        void close();
    }

    /**
     * Resolves the names now, and again when a result expires.
     *
     * @param refresh the maximum age of a result
     * @param listener receives all servers of all names whenever one of the names was resolved; called by one thread at
     *     a time
     */
    Registration watch(List<ServerAddress> names, Duration refresh, Consumer<List<DiscoveredServer>> listener);
}

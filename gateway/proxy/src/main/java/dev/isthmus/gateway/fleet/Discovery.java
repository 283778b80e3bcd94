package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Finds the servers that names stand for, and finds them again from time to time. */
public interface Discovery {

    /**
     * A server that was found.
     *
     * @param address no name
     * @param authority host and port as the server is to be called
     */
    record DiscoveredServer(Endpoint address, String authority) {}

    /** Names that are looked up until this is closed. */
    interface Registration extends AutoCloseable {
        /** Ends when every name was looked up once, with success or without. */
        CompletableFuture<Void> first();

        @Override
        void close();
    }

    /**
     * Looks the names up at once, and again when what was found is no longer valid.
     *
     * @param refresh how long it is valid at most
     * @param listener takes all that the names stand for whenever one of them was found; on one thread at a time
     */
    Registration watch(List<ServerAddress> names, Duration refresh, Consumer<List<DiscoveredServer>> listener);
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
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

    @FunctionalInterface
    interface WatchStart {
        /** Begins now. The listener receives all servers of it whenever they may have changed. */
        Registration start(Consumer<List<DiscoveredServer>> listener);
    }

    /**
     * Watches several things as one.
     *
     * @param parts whose listeners are all called by the same thread
     * @param listener receives the servers of all parts, in their order, whenever those of one may have changed
     */
    static Registration joined(List<WatchStart> parts, Consumer<List<DiscoveredServer>> listener) {
        List<List<DiscoveredServer>> found = new ArrayList<>(Collections.nCopies(parts.size(), List.of()));
        List<Registration> registrations = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            int part = i;
            registrations.add(parts.get(part).start(servers -> {
                found.set(part, servers);
                listener.accept(found.stream().flatMap(List::stream).toList());
            }));
        }
        return new JoinedRegistration(registrations);
    }

    /** Several registrations as one. */
    record JoinedRegistration(List<Registration> parts, CompletableFuture<Void> first) implements Registration {
        JoinedRegistration(List<Registration> parts) {
            this(
                    List.copyOf(parts),
                    CompletableFuture.allOf(
                            parts.stream().map(Registration::first).toArray(CompletableFuture<?>[]::new)));
        }

        @Override
        public long lookUps(boolean success) {
            return parts.stream().mapToLong(part -> part.lookUps(success)).sum();
        }

        @Override
        public void close() {
            parts.forEach(Registration::close);
        }
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

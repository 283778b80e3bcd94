package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.upstream.Upstream;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Polls the metadata of each ready server, and requests them when a server becomes ready again. Used on the catalogue's
 * loop.
 */
final class ServerMetadataPolls {
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(30);
    private static final int MAX_IN_FLIGHT = 16;

    private final ServerRecords records;
    private final CatalogueRequests requests;
    private final Consumer<List<ServerRecord>> returned;
    private final Runnable changed;
    private final ConcurrencyLimiter limiter = new ConcurrencyLimiter(MAX_IN_FLIGHT);
    private final PollSchedule<Upstream> schedule;

    /**
     * @param returned called with servers that became ready, for the first time or again
     * @param changed called when metadata have changed
     */
    ServerMetadataPolls(
            ServerRecords records,
            CatalogueRequests requests,
            LongSupplier nanoTime,
            RandomGenerator random,
            Consumer<List<ServerRecord>> returned,
            Runnable changed) {
        this.records = records;
        this.requests = requests;
        this.returned = returned;
        this.changed = changed;
        this.schedule = new PollSchedule<>(POLL_INTERVAL, nanoTime, random);
    }

    void tick() {
        List<ServerRecord> back = records.all().stream()
                .filter(record -> record.isReady() && !record.wasReady)
                .toList();
        back.forEach(record -> schedule.pollNow(record.server()));
        if (!back.isEmpty()) {
            returned.accept(back);
        }
        for (ServerRecord record : records.all()) {
            boolean ready = record.isReady();
            record.wasReady = ready;
            Upstream server = record.server();
            if ((ready || record.inProcess()) && schedule.begin(server)) {
                limiter.submit(() -> requests.serverMetadata(server, (message, failure) -> ended(record, message)));
            }
        }
        schedule.retain(records.servers());
    }

    /** The health checks report why a server does not respond. */
    private void ended(ServerRecord record, @Nullable ReplyMessage message) {
        if (message instanceof ReplyMessage.Server server && !server.metadata().equals(record.metadata)) {
            record.metadata = server.metadata();
            changed.run();
        }
        schedule.ended(record.server());
        limiter.completed();
    }
}

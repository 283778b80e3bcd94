package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Asks each server that is ready for its metadata, from time to time and when it is ready again. Used on the catalogue's
 * loop.
 */
final class ServerMetadataPolls {
    private static final Duration PERIOD = Duration.ofSeconds(30);
    private static final int UNDER_WAY = 16;

    private final ServerRecords watches;
    private final CatalogueRequests questions;
    private final Consumer<ServerRecord> returned;
    private final Runnable changed;
    private final ConcurrencyLimiter lane = new ConcurrencyLimiter(UNDER_WAY);
    private final PollSchedule<Upstream> rounds;

    /**
     * @param returned called with a server that is ready at last, or again
     * @param changed called when something is not as it was
     */
    ServerMetadataPolls(
            ServerRecords watches,
            CatalogueRequests questions,
            LongSupplier nanoTime,
            RandomGenerator random,
            Consumer<ServerRecord> returned,
            Runnable changed) {
        this.watches = watches;
        this.questions = questions;
        this.returned = returned;
        this.changed = changed;
        this.rounds = new PollSchedule<>(PERIOD, nanoTime, random);
    }

    void tick() {
        for (ServerRecord watch : watches.all()) {
            boolean ready = watch.isReady();
            if (ready && !watch.wasReady) {
                rounds.hurry(watch.server());
                returned.accept(watch);
            }
            watch.wasReady = ready;
            Upstream server = watch.server();
            if ((ready || watch.inProcess()) && rounds.begin(server)) {
                lane.ask(() -> questions.serverMetadata(server, new ServerMetadataReply(watch)));
            }
        }
        rounds.retain(watches.servers());
    }

    private final class ServerMetadataReply implements CatalogueRequests.ResultHandler {
        private final ServerRecord watch;

        ServerMetadataReply(ServerRecord watch) {
            this.watch = watch;
        }

        @Override
        public void answer(ReplyMessage answer) {
            if (answer instanceof ReplyMessage.Server server
                    && !server.metadata().equals(watch.metadata)) {
                watch.metadata = server.metadata();
                changed.run();
            }
            answer.release();
            ended();
        }

        @Override
        public void failed(OipException failure) {
            // Why it does not answer, if it still does not, is found out by its health checks.
            ended();
        }

        private void ended() {
            rounds.ended(watch.server());
            lane.ended();
        }
    }
}

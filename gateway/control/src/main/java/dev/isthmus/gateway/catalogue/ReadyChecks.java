package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Notes whether servers and the configured models on them are ready: what clusters find out themselves is taken from them, the
 * local backend is asked. Asks each server for its metadata. Used on the catalogue's loop.
 */
final class ReadyChecks {
    private static final Duration METADATA_PERIOD = Duration.ofSeconds(30);
    private static final int UNDER_WAY = 16;

    private final ServerRecords watches;
    private final CatalogueRequests questions;
    private final Consumer<ServerRecord> returned;
    private final Runnable changed;
    private final ConcurrencyLimiter lane = new ConcurrencyLimiter(UNDER_WAY);
    private final PollSchedule<Upstream> metadataRounds;
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    /**
     * @param returned called with a server that is ready at last, or again
     * @param changed called when something is not as it was
     */
    ReadyChecks(
            ServerRecords watches,
            ModelLocations places,
            CatalogueRequests questions,
            LongSupplier nanoTime,
            RandomGenerator random,
            Consumer<ServerRecord> returned,
            Runnable changed) {
        this.watches = watches;
        this.questions = questions;
        this.returned = returned;
        this.changed = changed;
        this.metadataRounds = new PollSchedule<>(METADATA_PERIOD, nanoTime, random);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
                models.computeIfAbsent(target.upstream(), upstream -> new LinkedHashSet<>())
                        .add(target.model());
            }
        }
    }

    void tick() {
        for (ServerRecord watch : watches.all()) {
            if (watch.checked()) {
                note(watch, watch.member.asked() ? watch.member.ready() : null, watch.member.reason());
            } else {
                ask(watch);
            }
            Upstream server = watch.server();
            if ((watch.isReady() || !watch.checked()) && metadataRounds.begin(server)) {
                lane.ask(() -> questions.serverMetadata(server, new ServerMetadataReply(watch)));
            }
        }
        metadataRounds.retain(watches.servers());
    }

    /** The local backend knows the answers and gives them before this returns. */
    private void ask(ServerRecord watch) {
        ReadyReply ofServer = (ready, reason) -> note(watch, ready, reason);
        questions.serverReady(watch.server(), ofServer);
        for (ModelRef model : models.getOrDefault(watch.upstream, Set.of())) {
            ReadyReply ofModel = (ready, reason) -> note(watch, model, ready);
            questions.modelReady(watch.server(), model, ofModel);
        }
    }

    /** @param now null as long as the server was not asked */
    private void note(ServerRecord watch, @Nullable Boolean now, String reason) {
        if (Objects.equals(watch.ready, now)) {
            return;
        }
        watch.ready = now;
        watch.reason = MetadataLimits.reason(reason);
        if (Boolean.TRUE.equals(now)) {
            metadataRounds.hurry(watch.server());
            returned.accept(watch);
        }
        changed.run();
    }

    private void note(ServerRecord watch, ModelRef model, boolean now) {
        Boolean before = watch.models.put(model, now);
        if (before == null || before != now) {
            changed.run();
        }
    }

    /** Whether something is ready. */
    private interface ReadyReply extends CatalogueRequests.ResultHandler {
        void note(boolean ready, String reason);

        @Override
        default void answer(ReplyMessage answer) {
            boolean ready = (answer instanceof ReplyMessage.Ready server && server.ready())
                    || (answer instanceof ReplyMessage.ModelReadyState model && model.ready());
            answer.release();
            note(ready, "it says that it is not ready");
        }

        @Override
        default void failed(OipException failure) {
            note(false, failure.message());
        }
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
            // Why it does not answer, if it still does not, is found out with its readiness.
            ended();
        }

        private void ended() {
            metadataRounds.ended(watch.server());
            lane.ended();
        }
    }
}

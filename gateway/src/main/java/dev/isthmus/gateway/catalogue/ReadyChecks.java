package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Answer;
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

    private final Watches watches;
    private final Questions questions;
    private final Consumer<Watch> returned;
    private final Runnable changed;
    private final Lane lane = new Lane(UNDER_WAY);
    private final Rounds<Upstream> metadataRounds;
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    /**
     * @param returned called with a server that is ready at last, or again
     * @param changed called when something is not as it was
     */
    ReadyChecks(
            Watches watches,
            Places places,
            Questions questions,
            LongSupplier nanoTime,
            RandomGenerator random,
            Consumer<Watch> returned,
            Runnable changed) {
        this.watches = watches;
        this.questions = questions;
        this.returned = returned;
        this.changed = changed;
        this.metadataRounds = new Rounds<>(METADATA_PERIOD, nanoTime, random);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
                models.computeIfAbsent(target.upstream(), upstream -> new LinkedHashSet<>())
                        .add(target.model());
            }
        }
    }

    void tick() {
        for (Watch watch : watches.all()) {
            if (watch.checked()) {
                note(watch, watch.member.asked() ? watch.member.ready() : null, watch.member.reason());
            } else {
                ask(watch);
            }
            Upstream server = watch.server();
            if ((watch.isReady() || !watch.checked()) && metadataRounds.begin(server)) {
                lane.ask(() -> questions.serverMetadata(server, new Introduction(watch)));
            }
        }
        metadataRounds.retain(watches.servers());
    }

    /** The local backend knows the answers and gives them before this returns. */
    private void ask(Watch watch) {
        Verdict ofServer = (ready, reason) -> note(watch, ready, reason);
        questions.serverReady(watch.server(), ofServer);
        for (ModelRef model : models.getOrDefault(watch.upstream, Set.of())) {
            Verdict ofModel = (ready, reason) -> note(watch, model, ready);
            questions.modelReady(watch.server(), model, ofModel);
        }
    }

    /** @param now null as long as the server was not asked */
    private void note(Watch watch, @Nullable Boolean now, String reason) {
        if (Objects.equals(watch.ready, now)) {
            return;
        }
        watch.ready = now;
        watch.reason = Bounds.reason(reason);
        if (Boolean.TRUE.equals(now)) {
            metadataRounds.hurry(watch.server());
            returned.accept(watch);
        }
        changed.run();
    }

    private void note(Watch watch, ModelRef model, boolean now) {
        Boolean before = watch.models.put(model, now);
        if (before == null || before != now) {
            changed.run();
        }
    }

    /** Whether something is ready. */
    private interface Verdict extends Questions.Heard {
        void note(boolean ready, String reason);

        @Override
        default void answer(Answer answer) {
            boolean ready = (answer instanceof Answer.Ready server && server.ready())
                    || (answer instanceof Answer.ModelReady model && model.ready());
            answer.release();
            note(ready, "it says that it is not ready");
        }

        @Override
        default void failed(OipException failure) {
            note(false, failure.message());
        }
    }

    private final class Introduction implements Questions.Heard {
        private final Watch watch;

        Introduction(Watch watch) {
            this.watch = watch;
        }

        @Override
        public void answer(Answer answer) {
            if (answer instanceof Answer.Server server && !server.metadata().equals(watch.metadata)) {
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

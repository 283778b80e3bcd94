package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks each server for its metadata, and those that no cluster asks whether they and the configured models are ready. Used on
 * the catalogue's loop.
 */
final class ReadyChecks {
    private static final Logger LOG = LoggerFactory.getLogger(ReadyChecks.class);
    private static final Duration READY_PERIOD = Duration.ofSeconds(1);
    private static final Duration METADATA_PERIOD = Duration.ofSeconds(30);
    private static final int UNDER_WAY = 16;

    private final Watches watches;
    private final Questions questions;
    private final Consumer<Watch> returned;
    private final Runnable changed;
    private final Lane lane = new Lane(UNDER_WAY);
    private final Rounds<Upstream> metadataRounds;
    private final Rounds<Upstream> readyRounds;
    private final Rounds<Asked> modelRounds;
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    /** A model on a server. */
    private record Asked(Upstream server, ModelRef model) {}

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
        this.readyRounds = new Rounds<>(READY_PERIOD, nanoTime, random);
        this.modelRounds = new Rounds<>(READY_PERIOD, nanoTime, random);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
                models.computeIfAbsent(target.upstream(), upstream -> new LinkedHashSet<>())
                        .add(target.model());
            }
        }
    }

    void tick() {
        List<Asked> all = new ArrayList<>();
        for (Watch watch : watches.all()) {
            Upstream server = watch.server();
            if (watch.checked()) {
                take(watch);
                if (watch.isReady() && metadataRounds.begin(server)) {
                    lane.ask(() -> questions.serverMetadata(server, new Introduction(watch, false)));
                }
                continue;
            }
            if (readyRounds.begin(server)) {
                lane.ask(() -> ready(watch));
            }
            if (watch.metadata != null && metadataRounds.begin(server)) {
                lane.ask(() -> questions.serverMetadata(server, new Introduction(watch, false)));
            }
            for (ModelRef model : models(watch)) {
                Asked asked = new Asked(server, model);
                all.add(asked);
                // Only then is it known how to speak to it.
                if (watch.ready != null && modelRounds.begin(asked)) {
                    lane.ask(() -> questions.modelReady(server, model, new ModelCheck(watch, asked)));
                }
            }
        }
        metadataRounds.retain(watches.servers());
        readyRounds.retain(watches.servers());
        modelRounds.retain(all);
    }

    /** What a cluster found out about its server. */
    private void take(Watch watch) {
        Boolean before = watch.ready;
        Boolean now = watch.member.asked() ? watch.member.ready() : null;
        if (Objects.equals(before, now)) {
            return;
        }
        watch.ready = now;
        watch.reason = Bounds.reason(watch.member.reason());
        if (Boolean.TRUE.equals(now)) {
            metadataRounds.hurry(watch.server());
            returned.accept(watch);
        }
        changed.run();
    }

    private void ready(Watch watch) {
        if (watch.metadata == null) {
            questions.serverMetadata(watch.server(), new Introduction(watch, true));
        } else {
            questions.serverReady(watch.server(), new Readiness(watch));
        }
    }

    private Set<ModelRef> models(Watch watch) {
        return models.getOrDefault(watch.upstream, Set.of());
    }

    /** The models of these upstreams were loaded or unloaded. */
    void hurry(Set<Upstream> upstreams) {
        for (Watch watch : watches.all()) {
            if (upstreams.contains(watch.upstream)) {
                models(watch).forEach(model -> modelRounds.hurry(new Asked(watch.server(), model)));
            }
        }
        tick();
    }

    private final class Introduction implements Questions.Heard {
        private final Watch watch;
        private final boolean first;

        /** @param first whether the question for readiness follows */
        Introduction(Watch watch, boolean first) {
            this.watch = watch;
            this.first = first;
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
            // The reason, if it still holds, is told by the answer on readiness.
            ended();
        }

        private void ended() {
            if (first) {
                questions.serverReady(watch.server(), new Readiness(watch));
            } else {
                metadataRounds.ended(watch.server());
                lane.ended();
            }
        }
    }

    private final class Readiness implements Questions.Heard {
        private final Watch watch;

        Readiness(Watch watch) {
            this.watch = watch;
        }

        @Override
        public void answer(Answer answer) {
            note(answer instanceof Answer.Ready is && is.ready(), "it says that it is not ready");
            answer.release();
        }

        @Override
        public void failed(OipException failure) {
            note(false, failure.message());
        }

        private void note(boolean now, String reason) {
            Boolean before = watch.ready;
            watch.ready = now;
            watch.reason = Bounds.reason(reason);
            readyRounds.ended(watch.server());
            lane.ended();
            if (before == null || before != now) {
                if (now) {
                    LOG.info("upstream '{}': {} is ready", watch.member.upstream(), watch.member.label());
                } else {
                    LOG.warn(
                            "upstream '{}': {} is not ready: {}",
                            watch.member.upstream(),
                            watch.member.label(),
                            reason);
                }
                if (now && before != null) {
                    metadataRounds.hurry(watch.server());
                    returned.accept(watch);
                }
                changed.run();
            }
        }
    }

    private final class ModelCheck implements Questions.Heard {
        private final Watch watch;
        private final Asked asked;

        ModelCheck(Watch watch, Asked asked) {
            this.watch = watch;
            this.asked = asked;
        }

        @Override
        public void answer(Answer answer) {
            note(answer instanceof Answer.ModelReady is && is.ready());
            answer.release();
        }

        @Override
        public void failed(OipException failure) {
            note(false);
        }

        private void note(boolean now) {
            Boolean before = watch.models.put(asked.model(), now);
            modelRounds.ended(asked);
            lane.ended();
            if (before == null || before != now) {
                changed.run();
            }
        }
    }
}

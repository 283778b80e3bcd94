package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.catalogue.Shared.Found;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What the servers say of single models: of the configured ones asked from time to time, of others when a client asks. Used
 * on the catalogue's loop, but for what is known.
 */
final class Models {
    /** Servers that are asked because a client wants to know. */
    static final int ASKED = 8;

    private static final int ASKED_OF_CONFIGURED = 64;
    private static final int UNDER_WAY = 32;
    private static final Duration PERIOD = Duration.ofSeconds(30);
    private static final Duration KEEP = Duration.ofSeconds(30);
    /** Until the next round has come for certain. */
    private static final Duration KEEP_CONFIGURED = Duration.ofSeconds(45);

    private static final Duration KEEP_READY = Duration.ofSeconds(1);
    private static final Duration KEEP_UNKNOWN = Duration.ofSeconds(2);
    private static final Duration KEEP_FAILURE = Duration.ofSeconds(1);

    private final Watches watches;
    private final Places places;
    private final Questions questions;
    private final Lane background;
    private final Lane wanted = new Lane(UNDER_WAY);
    private final Rounds<ModelRef> rounds;
    private final DriftLog drift;
    private final Shared<ModelRef, ModelMetadata> metadata;
    private final Shared<ModelRef, Boolean> ready;

    Models(
            Watches watches,
            Places places,
            Questions questions,
            Lane background,
            DriftLog drift,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.watches = watches;
        this.places = places;
        this.questions = questions;
        this.background = background;
        this.drift = drift;
        this.rounds = new Rounds<>(PERIOD, nanoTime, random);
        this.metadata = new Shared<>(nanoTime);
        this.ready = new Shared<>(nanoTime);
    }

    /** The metadata by the client's name and version. */
    Shared<ModelRef, ModelMetadata> metadata() {
        return metadata;
    }

    /** Whether a model is ready that is not configured by its name, or a version of one. */
    Shared<ModelRef, Boolean> ready() {
        return ready;
    }

    DriftLog drift() {
        return drift;
    }

    void tick() {
        for (String name : places.configured()) {
            ModelRef model = ModelRef.of(name);
            if (rounds.begin(model)) {
                describe(model, ASKED_OF_CONFIGURED, background, found -> {
                    metadata.put(model, found);
                    rounds.ended(model);
                });
            }
        }
    }

    /** Models of these upstreams were loaded or unloaded. */
    void hurry(Set<Upstream> upstreams) {
        metadata.forgetAll();
        ready.forgetAll();
        for (String name : places.configured()) {
            ModelRef model = ModelRef.of(name);
            if (places.of(model).targets().stream().anyMatch(target -> upstreams.contains(target.upstream()))) {
                rounds.hurry(model);
            }
        }
        tick();
    }

    void describe(ModelRef model, Consumer<Found<ModelMetadata>> then) {
        metadata.want(model, found -> describe(model, ASKED, wanted, found), then);
    }

    void ready(ModelRef model, Consumer<Found<Boolean>> then) {
        ready.want(
                model,
                found -> {
                    Place place = places.of(model);
                    new ReadySearch(place, servers(place, ASKED), found).begin();
                },
                then);
    }

    private void describe(ModelRef model, int most, Lane lane, Consumer<Found<ModelMetadata>> found) {
        Place place = places.of(model);
        new Description(model, place, servers(place, most), lane, found).begin();
    }

    /** A server and what the model is called there. */
    private record Asked(Watch watch, ModelRef model, Source source) {}

    /** The servers of all targets in turn; those that are not ready only where none is. */
    private List<Asked> servers(Place place, int most) {
        List<List<Asked>> byTarget = new ArrayList<>();
        for (Target target : place.targets()) {
            byTarget.add(watches.of(target.upstream()).stream()
                    .map(watch -> new Asked(watch, target.model(), source(place, target, watch)))
                    .toList());
        }
        boolean anyReady = byTarget.stream()
                .flatMap(List::stream)
                .anyMatch(asked -> asked.watch().isReady());
        List<Asked> chosen = new ArrayList<>();
        int longest = byTarget.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < longest; i++) {
            for (List<Asked> servers : byTarget) {
                if (i < servers.size() && chosen.size() < most) {
                    Asked asked = servers.get(i);
                    if (asked.watch().isReady() || !anyReady) {
                        chosen.add(asked);
                    }
                }
            }
        }
        return chosen;
    }

    /** Two arms may be on one server. */
    private static Source source(Place place, Target target, Watch watch) {
        long same = place.targets().stream()
                .filter(other -> other.upstream() == target.upstream())
                .count();
        Source source = watch.source();
        return same == 1 ? source : new Source(source.upstream(), source.label() + " " + target.model());
    }

    private static <V> Found<V> failure(List<OipException> failures) {
        OipException worst = failures.isEmpty()
                ? new OipException(ErrorCode.UNAVAILABLE, "the model's upstream has no servers")
                : Severity.worst(failures);
        return new Found.Failure<>(worst, worst.code() == ErrorCode.NOT_FOUND ? KEEP_UNKNOWN : KEEP_FAILURE);
    }

    /** Asks some servers the same and waits for all of them. */
    private abstract static class Search {
        final List<Asked> servers;
        final List<OipException> failures = new ArrayList<>();
        private final Lane lane;
        private int open;

        Search(List<Asked> servers, Lane lane) {
            this.servers = servers;
            this.lane = lane;
        }

        void begin() {
            open = servers.size();
            if (open == 0) {
                ended();
            }
            for (int i = 0; i < servers.size(); i++) {
                int at = i;
                lane.ask(() -> ask(servers.get(at), new Heard(this, at)));
            }
        }

        abstract void ask(Asked server, Questions.Heard heard);

        abstract void heard(int server, Answer answer);

        abstract void ended();

        void one() {
            lane.ended();
            open--;
            if (open == 0) {
                ended();
            }
        }
    }

    private record Heard(Search search, int server) implements Questions.Heard {
        @Override
        public void answer(Answer answer) {
            search.heard(server, answer);
            answer.release();
            search.one();
        }

        @Override
        public void failed(OipException failure) {
            search.failures.add(failure);
            search.one();
        }
    }

    private final class Description extends Search {
        private final ModelRef model;
        private final Place place;
        private final Consumer<Found<ModelMetadata>> found;
        private final @Nullable ModelMetadata[] said;

        Description(ModelRef model, Place place, List<Asked> servers, Lane lane, Consumer<Found<ModelMetadata>> found) {
            super(servers, lane);
            this.model = model;
            this.place = place;
            this.found = found;
            this.said = new ModelMetadata[servers.size()];
        }

        @Override
        void ask(Asked server, Questions.Heard heard) {
            questions.modelMetadata(server.watch().server(), server.model(), heard);
        }

        @Override
        void heard(int server, Answer answer) {
            if (answer instanceof Answer.Model is) {
                said[server] = is.metadata();
            }
        }

        @Override
        void ended() {
            List<Described> described = new ArrayList<>();
            for (int i = 0; i < said.length; i++) {
                ModelMetadata metadata = said[i];
                if (metadata != null) {
                    Asked asked = servers.get(i);
                    boolean knownReady = asked.watch().isReady(asked.model());
                    described.add(new Described(asked.source(), asked.model(), knownReady, metadata));
                }
            }
            MergedModel.of(model.name(), described)
                    .ifPresentOrElse(merged -> found(described, merged), () -> found.accept(failure(failures)));
        }

        private void found(List<Described> described, MergedModel merged) {
            if (model.version().isEmpty()) {
                drift.note(model.name(), merged.drift());
            }
            ModelMetadata answer =
                    described.size() == 1 ? named(described.getFirst().metadata(), model.name()) : merged.metadata();
            found.accept(new Found.Value<>(answer, place.configured() ? KEEP_CONFIGURED : KEEP));
        }

        /** What only one server says is told as it says it. */
        private static ModelMetadata named(ModelMetadata said, String name) {
            return new ModelMetadata(
                    name, said.versions(), said.platform(), said.inputs(), said.outputs(), said.parameters());
        }
    }

    private final class ReadySearch extends Search {
        private final Place place;
        private final Consumer<Found<Boolean>> found;
        private Tally tally = Tally.NONE;

        ReadySearch(Place place, List<Asked> servers, Consumer<Found<Boolean>> found) {
            super(servers, wanted);
            this.place = place;
            this.found = found;
        }

        @Override
        void ask(Asked server, Questions.Heard heard) {
            questions.modelReady(server.watch().server(), server.model(), heard);
        }

        @Override
        void heard(int server, Answer answer) {
            tally = tally.plus(answer instanceof Answer.ModelReady is && is.ready());
        }

        /** A server that cannot be reached has no model that is ready; what others fail with is told to who asks. */
        @Override
        void ended() {
            boolean unreachable = failures.stream().anyMatch(ReadySearch::unreachable);
            if (tally.total() == 0 && !failures.isEmpty() && !unreachable) {
                found.accept(failure(failures));
                return;
            }
            Tally all = tally.plus(new Tally(0, failures.size()));
            found.accept(new Found.Value<>(place.policy().ready(all), KEEP_READY));
        }

        private static boolean unreachable(OipException failure) {
            return failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        }
    }
}

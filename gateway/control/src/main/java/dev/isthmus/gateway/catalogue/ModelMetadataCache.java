package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
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
final class ModelMetadataCache {
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

    private final ServerRecords watches;
    private final ModelLocations places;
    private final CatalogueRequests questions;
    private final ConcurrencyLimiter background;
    private final ConcurrencyLimiter wanted = new ConcurrencyLimiter(UNDER_WAY);
    private final PollSchedule<ModelRef> rounds;
    private final DriftLog drift;
    private final SharedLookups<ModelRef, ModelMetadata> metadata;
    private final SharedLookups<ModelRef, Boolean> ready;

    ModelMetadataCache(
            ServerRecords watches,
            ModelLocations places,
            CatalogueRequests questions,
            ConcurrencyLimiter background,
            DriftLog drift,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.watches = watches;
        this.places = places;
        this.questions = questions;
        this.background = background;
        this.drift = drift;
        this.rounds = new PollSchedule<>(PERIOD, nanoTime, random);
        this.metadata = new SharedLookups<>(nanoTime);
        this.ready = new SharedLookups<>(nanoTime);
    }

    /** The metadata by the client's name and version. */
    SharedLookups<ModelRef, ModelMetadata> metadata() {
        return metadata;
    }

    /** Whether a model is ready that is not configured by its name, or a version of one. */
    SharedLookups<ModelRef, Boolean> ready() {
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

    void describe(ModelRef model, Consumer<LookupResult<ModelMetadata>> then) {
        metadata.want(model, found -> describe(model, ASKED, wanted, found), then);
    }

    void ready(ModelRef model, Consumer<LookupResult<Boolean>> then) {
        ready.want(
                model,
                found -> {
                    ModelLocation place = places.of(model);
                    new ReadinessLookup(place, servers(place, ASKED), found).begin();
                },
                then);
    }

    private void describe(
            ModelRef model, int most, ConcurrencyLimiter lane, Consumer<LookupResult<ModelMetadata>> found) {
        ModelLocation place = places.of(model);
        new DescriptionReply(model, place, servers(place, most), lane, found).begin();
    }

    /** A server and what the model is called there. */
    private record ServerModel(ServerRecord watch, ModelRef model, ServerId source) {}

    /** The servers of all targets in turn; those that are not ready only where none is. */
    private List<ServerModel> servers(ModelLocation place, int most) {
        List<List<ServerModel>> byTarget = new ArrayList<>();
        for (Target target : place.targets()) {
            byTarget.add(watches.of(target.upstream()).stream()
                    .map(watch -> new ServerModel(watch, target.model(), source(place, target, watch)))
                    .toList());
        }
        boolean anyReady = byTarget.stream()
                .flatMap(List::stream)
                .anyMatch(asked -> asked.watch().isReady());
        List<ServerModel> chosen = new ArrayList<>();
        int longest = byTarget.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < longest; i++) {
            for (List<ServerModel> servers : byTarget) {
                if (i < servers.size() && chosen.size() < most) {
                    ServerModel asked = servers.get(i);
                    if (asked.watch().isReady() || !anyReady) {
                        chosen.add(asked);
                    }
                }
            }
        }
        return chosen;
    }

    /** Two arms may be on one server. */
    private static ServerId source(ModelLocation place, Target target, ServerRecord watch) {
        long same = place.targets().stream()
                .filter(other -> other.upstream() == target.upstream())
                .count();
        ServerId source = watch.source();
        return same == 1 ? source : new ServerId(source.upstream(), source.label() + " " + target.model());
    }

    private static <V> LookupResult<V> failure(List<OipException> failures) {
        OipException worst = failures.isEmpty()
                ? new OipException(ErrorCode.UNAVAILABLE, "the model's upstream has no servers")
                : FailureSeverity.worst(failures);
        return new LookupResult.Failure<>(worst, worst.code() == ErrorCode.NOT_FOUND ? KEEP_UNKNOWN : KEEP_FAILURE);
    }

    /** Asks some servers the same and waits for all of them. */
    private abstract static class MetadataLookup {
        final List<ServerModel> servers;
        final List<OipException> failures = new ArrayList<>();
        private final ConcurrencyLimiter lane;
        private int open;

        MetadataLookup(List<ServerModel> servers, ConcurrencyLimiter lane) {
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
                lane.ask(() -> ask(servers.get(at), new MetadataHandler(this, at)));
            }
        }

        abstract void ask(ServerModel server, CatalogueRequests.ResultHandler heard);

        abstract void heard(int server, ReplyMessage answer);

        abstract void ended();

        void one() {
            lane.ended();
            open--;
            if (open == 0) {
                ended();
            }
        }
    }

    private record MetadataHandler(MetadataLookup search, int server) implements CatalogueRequests.ResultHandler {
        @Override
        public void answer(ReplyMessage answer) {
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

    private final class DescriptionReply extends MetadataLookup {
        private final ModelRef model;
        private final ModelLocation place;
        private final Consumer<LookupResult<ModelMetadata>> found;
        private final @Nullable ModelMetadata[] said;

        DescriptionReply(
                ModelRef model,
                ModelLocation place,
                List<ServerModel> servers,
                ConcurrencyLimiter lane,
                Consumer<LookupResult<ModelMetadata>> found) {
            super(servers, lane);
            this.model = model;
            this.place = place;
            this.found = found;
            this.said = new ModelMetadata[servers.size()];
        }

        @Override
        void ask(ServerModel server, CatalogueRequests.ResultHandler heard) {
            questions.modelMetadata(server.watch().server(), server.model(), heard);
        }

        @Override
        void heard(int server, ReplyMessage answer) {
            if (answer instanceof ReplyMessage.Model is) {
                said[server] = is.metadata();
            }
        }

        @Override
        void ended() {
            List<ModelDescription> described = new ArrayList<>();
            for (int i = 0; i < said.length; i++) {
                ModelMetadata metadata = said[i];
                if (metadata != null) {
                    ServerModel asked = servers.get(i);
                    boolean knownReady = asked.watch().isReady(asked.model());
                    described.add(new ModelDescription(asked.source(), asked.model(), knownReady, metadata));
                }
            }
            MergedModel.of(model.name(), described)
                    .ifPresentOrElse(merged -> found(described, merged), () -> found.accept(failure(failures)));
        }

        private void found(List<ModelDescription> described, MergedModel merged) {
            if (model.version().isEmpty()) {
                drift.note(model.name(), merged.drift());
            }
            ModelMetadata answer =
                    described.size() == 1 ? named(described.getFirst().metadata(), model.name()) : merged.metadata();
            found.accept(new LookupResult.Value<>(answer, place.configured() ? KEEP_CONFIGURED : KEEP));
        }

        /** What only one server says is told as it says it. */
        private static ModelMetadata named(ModelMetadata said, String name) {
            return new ModelMetadata(
                    name, said.versions(), said.platform(), said.inputs(), said.outputs(), said.parameters());
        }
    }

    private final class ReadinessLookup extends MetadataLookup {
        private final ModelLocation place;
        private final Consumer<LookupResult<Boolean>> found;
        private ReadyCount tally = ReadyCount.NONE;

        ReadinessLookup(ModelLocation place, List<ServerModel> servers, Consumer<LookupResult<Boolean>> found) {
            super(servers, wanted);
            this.place = place;
            this.found = found;
        }

        @Override
        void ask(ServerModel server, CatalogueRequests.ResultHandler heard) {
            questions.modelReady(server.watch().server(), server.model(), heard);
        }

        @Override
        void heard(int server, ReplyMessage answer) {
            tally = tally.plus(answer instanceof ReplyMessage.ModelReadyState is && is.ready());
        }

        /** A server that cannot be reached has no model that is ready; what others fail with is told to who asks. */
        @Override
        void ended() {
            boolean unreachable = failures.stream().anyMatch(ReadinessLookup::unreachable);
            if (tally.total() == 0 && !failures.isEmpty() && !unreachable) {
                found.accept(failure(failures));
                return;
            }
            ReadyCount all = tally.plus(new ReadyCount(0, failures.size()));
            found.accept(new LookupResult.Value<>(all.satisfies(place.policy()), KEEP_READY));
        }

        private static boolean unreachable(OipException failure) {
            return failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        }
    }
}

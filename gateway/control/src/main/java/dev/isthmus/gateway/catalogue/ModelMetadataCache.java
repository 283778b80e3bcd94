package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.ModelServers.ServerModel;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.fleet.SharedLookups;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
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
 * The metadata of single models as the servers say them: of the configured ones asked from time to time, of others when a
 * client asks. Used on the catalogue's loop, but for what is known.
 */
final class ModelMetadataCache {
    private static final int ASKED_OF_CONFIGURED = 64;
    private static final int UNDER_WAY = 32;
    private static final Duration PERIOD = Duration.ofSeconds(30);
    private static final Duration KEEP = Duration.ofSeconds(30);
    /** Until the next round has come for certain. */
    private static final Duration KEEP_CONFIGURED = Duration.ofSeconds(45);

    private static final Duration KEEP_UNKNOWN = Duration.ofSeconds(2);
    private static final Duration KEEP_FAILURE = Duration.ofSeconds(1);

    private final ModelServers servers;
    private final ModelLocations places;
    private final CatalogueRequests questions;
    private final ConcurrencyLimiter background;
    private final ConcurrencyLimiter wanted = new ConcurrencyLimiter(UNDER_WAY);
    private final PollSchedule<ModelRef> rounds;
    private final DriftLog drift;
    private final SharedLookups<ModelRef, ModelMetadata> metadata;

    ModelMetadataCache(
            ModelServers servers,
            ModelLocations places,
            CatalogueRequests questions,
            ConcurrencyLimiter background,
            DriftLog drift,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.servers = servers;
        this.places = places;
        this.questions = questions;
        this.background = background;
        this.drift = drift;
        this.rounds = new PollSchedule<>(PERIOD, nanoTime, random);
        this.metadata = new SharedLookups<>(nanoTime);
    }

    /** The metadata by the client's name and version. */
    SharedLookups<ModelRef, ModelMetadata> metadata() {
        return metadata;
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
        for (String name : places.configured()) {
            ModelRef model = ModelRef.of(name);
            if (places.of(model).targets().stream().anyMatch(target -> upstreams.contains(target.upstream()))) {
                rounds.hurry(model);
            }
        }
        tick();
    }

    void describe(ModelRef model, Consumer<LookupResult<ModelMetadata>> then) {
        metadata.want(model, found -> describe(model, ModelServers.ASKED, wanted, found), then);
    }

    private void describe(
            ModelRef model, int most, ConcurrencyLimiter lane, Consumer<LookupResult<ModelMetadata>> found) {
        ModelLocation place = places.of(model);
        new DescriptionReply(model, place, servers.of(place, most), lane, found).begin();
    }

    private static LookupResult<ModelMetadata> failure(List<OipException> failures) {
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
}

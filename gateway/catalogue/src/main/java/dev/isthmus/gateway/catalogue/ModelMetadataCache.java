package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.gateway.catalogue.MergedModel.ModelDescription;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.catalogue.ServerRecords.ServerModel;
import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.validation.DeclaredSignatures;
import dev.isthmus.gateway.validation.ModelSignature;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metadata of models: configured models are polled, others are looked up on demand. Used on the catalogue's loop,
 * except for cached results.
 */
final class ModelMetadataCache {
    private static final int MAX_POLLED_SERVERS = 64;
    private static final int MAX_IN_FLIGHT = 32;
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(30);
    private static final Duration TTL = Duration.ofSeconds(30);
    /** Long enough to last until the next poll has completed. */
    private static final Duration CONFIGURED_TTL = Duration.ofSeconds(45);

    private static final Duration NOT_FOUND_TTL = Duration.ofSeconds(2);
    private static final Duration FAILURE_TTL = Duration.ofSeconds(1);

    private final ServerRecords servers;
    private final ModelLocations locations;
    private final CatalogueRequests background;
    private final CatalogueRequests onDemand;
    private final Set<ModelLocation> polled;
    private final PollSchedule<ModelLocation> schedule;
    private final DriftLog drift;
    private final SignatureTable signatures;
    private final SharedLookups<ModelLocation, ModelMetadata> metadata;
    /** How often models were loaded or unloaded: what was asked before is outdated. */
    private int changes;

    private volatile Consumer<Set<Upstream>> changed = upstreams -> {};

    /** @param previous goes on here for models that are where they were; null for the first configuration */
    ModelMetadataCache(
            ServerRecords servers,
            ModelLocations locations,
            CatalogueRequests background,
            @Nullable ModelMetadataCache previous,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.servers = servers;
        this.locations = locations;
        this.background = background;
        this.onDemand = background.atMost(MAX_IN_FLIGHT);
        this.polled = new LinkedHashSet<>(locations.configured());
        this.drift = previous == null ? new DriftLog() : previous.drift;
        this.schedule = previous == null ? new PollSchedule<>(POLL_INTERVAL, nanoTime, random) : previous.schedule;
        this.metadata = previous == null ? new SharedLookups<>(nanoTime) : previous.metadata;
        this.signatures = previous == null ? new SignatureTable(nanoTime) : previous.signatures;
    }

    /** Takes over: forgets models that are not here, and what these upstreams declared. */
    void begin(Set<Upstream> gone) {
        schedule.retain(polled);
        signatures.forget(gone);
        drift.retain(locations);
    }

    /** The metadata of models where they are. */
    SharedLookups<ModelLocation, ModelMetadata> metadata() {
        return metadata;
    }

    DriftLog drift() {
        return drift;
    }

    /** What servers declare, for calls. */
    SignatureTable signatures() {
        return signatures;
    }

    /** This is to run when models of these upstreams were loaded or have changed. */
    void whenChanged(Consumer<Set<Upstream>> listener) {
        changed = listener;
    }

    /** Polls the configured models that are due. */
    void tick() {
        for (ModelLocation model : polled) {
            if (schedule.begin(model)) {
                int before = changes;
                describe(model, MAX_POLLED_SERVERS, background, found -> {
                    if (before == changes) {
                        metadata.put(model, found);
                    }
                    schedule.ended(model);
                });
            }
        }
        signatures.due().stream().filter(locations::routes).map(locations::of).forEach(this::describeForCalls);
    }

    /** Whether every configured model was asked for on its servers. */
    boolean settled() {
        return schedule.settled(polled);
    }

    /** Calls need the metadata of a model: all of its servers are asked, unless that has just failed. */
    private void describeForCalls(ModelLocation model) {
        if (metadata.known(model).filter(LookupResult.Failure.class::isInstance).isEmpty()) {
            metadata.lookUp(model, found -> describe(model, MAX_POLLED_SERVERS, background, found), found -> {});
        }
    }

    /** Models of these upstreams were loaded or unloaded: what is being asked is outdated. */
    void outdated(Set<Upstream> upstreams) {
        changes++;
        refresh(upstreams);
    }

    /** Polls the models of these upstreams now. */
    void refresh(Set<Upstream> upstreams) {
        metadata.outdated(model -> model.isOn(upstreams));
        signatures.forget(upstreams);
        changed.accept(upstreams);
        polled.stream().filter(model -> model.isOn(upstreams)).forEach(schedule::pollNow);
        tick();
    }

    void describe(ModelLocation model, Consumer<LookupResult<ModelMetadata>> then) {
        metadata.lookUp(model, found -> describe(model, ServerRecords.MAX_SERVERS, onDemand, found), then);
    }

    private void describe(
            ModelLocation location,
            int maxServers,
            CatalogueRequests requests,
            Consumer<LookupResult<ModelMetadata>> found) {
        List<ServerModel> asked = servers.of(location, maxServers);
        new DescriptionLookup(location, asked, asked.size() < maxServers, found).begin(requests);
    }

    private static LookupResult<ModelMetadata> failure(List<OipException> failures) {
        OipException worst = failures.isEmpty()
                ? new OipException(ErrorCode.UNAVAILABLE, "the model's upstream has no servers")
                : FailureSeverity.worst(failures);
        return new LookupResult.Failure<>(worst, worst.code() == ErrorCode.NOT_FOUND ? NOT_FOUND_TTL : FAILURE_TTL);
    }

    /** Asks some servers for their descriptions, and waits for all of them. */
    private final class DescriptionLookup {
        private final ModelRef model;
        private final ModelLocation location;
        private final List<ServerModel> asked;
        private final boolean askedAll;
        private final Consumer<LookupResult<ModelMetadata>> found;
        private final Map<ServerModel, ModelMetadata> descriptions = new HashMap<>();
        private final List<OipException> failures = new ArrayList<>();
        private final int before = changes;

        DescriptionLookup(
                ModelLocation location,
                List<ServerModel> asked,
                boolean askedAll,
                Consumer<LookupResult<ModelMetadata>> found) {
            this.model = location.requested();
            this.location = location;
            this.asked = asked;
            this.askedAll = askedAll;
            this.found = found;
        }

        void begin(CatalogueRequests requests) {
            Runnable ended = CatalogueRequests.after(asked.size(), this::ended);
            for (ServerModel each : asked) {
                requests.modelMetadata(each.record().server(), each.model(), (message, failure) -> {
                    if (message instanceof ReplyMessage.Model is) {
                        descriptions.put(each, is.metadata());
                    } else if (failure != null) {
                        failures.add(failure);
                    }
                    ended.run();
                });
            }
        }

        private void ended() {
            List<ModelDescription> described = new ArrayList<>();
            for (ServerModel each : asked) {
                ModelMetadata metadata = descriptions.get(each);
                if (metadata != null) {
                    boolean knownReady = each.record().isReady(each.model());
                    described.add(new ModelDescription(each.source(), each.model(), knownReady, metadata));
                }
            }
            MergedModel.of(model.name(), described)
                    .ifPresentOrElse(merged -> found(described, merged), () -> found.accept(failure(failures)));
        }

        private void found(List<ModelDescription> described, MergedModel merged) {
            if (model.version().isEmpty()) {
                drift.record(model.name(), merged.drift());
            }
            if (before == changes) {
                signatures.found(
                        model, described, askedAll && failures.stream().allMatch(DescriptionLookup::lacksModel));
            }
            ModelMetadata metadata =
                    described.size() == 1 ? named(described.getFirst().metadata(), model.name()) : merged.metadata();
            if (differs(metadata)) {
                changed.accept(
                        location.targets().stream().map(Target::upstream).collect(Collectors.toUnmodifiableSet()));
            }
            found.accept(new LookupResult.Value<>(metadata, location.configured() ? CONFIGURED_TTL : TTL));
        }

        private boolean differs(ModelMetadata found) {
            return metadata.known(location)
                    .filter(before -> before instanceof LookupResult.Value<ModelMetadata> value
                            && !value.value().equals(found))
                    .isPresent();
        }

        /** The server does not have the model, so it gets no requests for it. */
        private static boolean lacksModel(OipException failure) {
            return failure.code() == ErrorCode.NOT_FOUND;
        }

        /** The description of a single server is returned under the client's name, otherwise unchanged. */
        private static ModelMetadata named(ModelMetadata metadata, String name) {
            return metadata.with(name, metadata.versions(), metadata.platform());
        }
    }

    /** Passes on what a server says of a model to the client's own request, under the client's name. */
    static final class NamedReply extends ForwardingReply {
        private final ModelRef model;

        NamedReply(ModelRef model, Reply client) {
            super(client);
            this.model = model;
        }

        @Override
        public void message(ReplyMessage message) {
            super.message(
                    switch (message) {
                        case ReplyMessage.Model is ->
                            new ReplyMessage.Model(DescriptionLookup.named(is.metadata(), model.name()));
                        case ReplyMessage.ModelReadyState is -> new ReplyMessage.ModelReadyState(model, is.ready());
                        default -> message;
                    });
        }
    }

    /** The latest drift of each model; logs each change once. Thread-safe. */
    static final class DriftLog {
        private static final Logger LOG = LoggerFactory.getLogger(DriftLog.class);
        private static final ObjectMapper JSON = new ObjectMapper();
        private static final int MAX_MODELS = 10_000;

        private final Cache<String, List<Drift>> byModel = Caffeine.newBuilder()
                .maximumSize(MAX_MODELS)
                .executor(Runnable::run)
                .build();

        void record(String model, List<Drift> drift) {
            if (drift.equals(of(model))) {
                return;
            }
            if (drift.isEmpty()) {
                byModel.invalidate(model);
                LOG.atInfo()
                        .addMarker(RepeatingLogEvent.MARKER)
                        .addKeyValue("model", model)
                        .log("model '{}': its servers describe it alike again", model);
            } else {
                byModel.put(model, List.copyOf(drift));
                RepeatingLogEvent.warn(LOG)
                        .addKeyValue("model", model)
                        .log(
                                "model '{}': its servers describe it differently (all of it: GET /drift); load the same"
                                        + " model on them: {}",
                                model,
                                text(drift));
            }
        }

        /** Forgets models that calls cannot get to. */
        void retain(ModelLocations locations) {
            byModel.asMap().keySet().removeIf(model -> !locations.routes(ModelRef.of(model)));
        }

        private static String text(List<Drift> drift) {
            StringBuilder text = new StringBuilder();
            for (Drift difference : drift) {
                text.append(text.isEmpty() ? "" : "; ").append(difference.text());
                if (text.length() > MetadataLimits.REPORT) {
                    break;
                }
            }
            return MetadataLimits.cut(text.toString(), MetadataLimits.REPORT);
        }

        /** The differences of each model that has some, each with its server. */
        Map<String, List<String>> texts() {
            return byModel.asMap().entrySet().stream()
                    .collect(Collectors.toMap(
                            Map.Entry::getKey,
                            drift -> drift.getValue().stream().map(Drift::text).toList()));
        }

        ObjectNode document() {
            List<ModelDrift> models = new TreeMap<>(byModel.asMap())
                    .entrySet().stream()
                            .map(each -> new ModelDrift(each.getKey(), each.getValue()))
                            .toList();
            return JSON.valueToTree(Map.of("models", models));
        }

        private record ModelDrift(String name, List<Drift> drift) {}

        List<Drift> of(String model) {
            List<Drift> drift = byModel.getIfPresent(model);
            return drift == null ? List.of() : drift;
        }
    }

    /**
     * What the servers of each upstream declare of each model, as the last look-up has found it. It is read by calls on any
     * thread; all else is done on the catalogue's loop. Models that nobody has asked for since the last look-up are
     * forgotten, unless they are polled.
     */
    static final class SignatureTable implements ModelSignatures {
        /** How many models of upstreams are kept; those beyond it are not known. */
        static final int MAX_ENTRIES = 10_000;
        /** How many models may be looked up soon. */
        private static final int MAX_WANTED = 1_000;

        /** Later than the next poll of a model that is polled. */
        private static final long RENEWED_NANOS = Duration.ofSeconds(40).toNanos();
        /** A result lasts until the next look-up has ended. */
        private static final long KEPT_NANOS = Duration.ofSeconds(75).toNanos();

        private static final long REFUSED_NANOS = Duration.ofSeconds(1).toNanos();

        private final LongSupplier nanoTime;
        private final Map<ServedModel, SignatureEntry> known = new ConcurrentHashMap<>();
        /** The models to look up, as clients name them. */
        private final Set<ModelRef> wanted = ConcurrentHashMap.newKeySet();

        /** @param upstream its name */
        private record ServedModel(String upstream, ModelRef model) {}

        /** The result of a look-up; whether a call has asked for it since is marked without synchronization. */
        private static final class SignatureEntry {
            private final ModelRef requested;
            private final DeclaredSignatures declared;
            private final long readNanos;
            private volatile boolean used;

            SignatureEntry(ModelRef requested, DeclaredSignatures declared, long readNanos) {
                this.requested = requested;
                this.declared = declared;
                this.readNanos = readNanos;
            }
        }

        SignatureTable(LongSupplier nanoTime) {
            this.nanoTime = nanoTime;
        }

        @Override
        public DeclaredSignatures of(ModelRef requested, String upstream, ModelRef served) {
            SignatureEntry entry = known.get(new ServedModel(upstream, served));
            if (entry == null) {
                want(requested);
                return DeclaredSignatures.UNKNOWN;
            }
            if (!entry.used) {
                entry.used = true;
            }
            return entry.declared;
        }

        @Override
        public void refused(ModelRef requested, String upstream, ModelRef served) {
            SignatureEntry entry = known.get(new ServedModel(upstream, served));
            if (entry != null && nanoTime.getAsLong() - entry.readNanos > REFUSED_NANOS) {
                want(requested);
            }
        }

        private void want(ModelRef requested) {
            if (wanted.size() < MAX_WANTED) {
                wanted.add(requested);
            }
        }

        /**
         * A look-up has ended.
         *
         * @param complete whether all servers that may get a request have described the model, or do not have it
         */
        void found(ModelRef requested, List<ModelDescription> described, boolean complete) {
            Map<ServedModel, List<ModelMetadata>> byTarget = new LinkedHashMap<>();
            for (ModelDescription each : described) {
                byTarget.computeIfAbsent(
                                new ServedModel(each.source().upstream(), each.requested()),
                                target -> new ArrayList<>())
                        .add(each.metadata());
            }
            long now = nanoTime.getAsLong();
            byTarget.forEach((target, metadata) -> {
                if (known.size() < MAX_ENTRIES || known.containsKey(target)) {
                    known.put(target, new SignatureEntry(requested, declared(metadata, complete), now));
                }
            });
        }

        private static DeclaredSignatures declared(List<ModelMetadata> metadata, boolean complete) {
            List<ModelSignature> signatures = metadata.stream()
                    .collect(Collectors.toMap(
                            each -> List.of(each.inputs(), each.outputs()),
                            ModelSignature::of,
                            (first, same) -> first,
                            LinkedHashMap::new))
                    .values()
                    .stream()
                    .toList();
            return new DeclaredSignatures(signatures, complete);
        }

        /** The models to look up now: those that calls have asked for, and those whose last look-up is long ago. */
        Set<ModelRef> due() {
            long now = nanoTime.getAsLong();
            known.values().removeIf(entry -> now - entry.readNanos > KEPT_NANOS);
            Set<ModelRef> due = new LinkedHashSet<>();
            for (SignatureEntry entry : known.values()) {
                if (now - entry.readNanos > RENEWED_NANOS && entry.used) {
                    due.add(entry.requested);
                }
            }
            wanted.removeIf(asked -> {
                due.add(asked);
                return true;
            });
            return due;
        }

        /** Models of these upstreams were loaded or unloaded. */
        void forget(Set<Upstream> upstreams) {
            Set<String> names = upstreams.stream().map(Upstream::name).collect(Collectors.toUnmodifiableSet());
            known.keySet().removeIf(model -> names.contains(model.upstream()));
        }
    }
}

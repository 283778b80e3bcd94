package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.catalogue.RepositoryIndex.IndexedModel.ReplicaState;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The repository index of the whole fleet.
 *
 * @param models by name and version, at most 100,000
 * @param failures of servers whose request failed, in the order of the sources
 * @param servers the number of servers
 * @param cut whether there were more models
 */
public record RepositoryIndex(
        List<IndexedModel> models,
        List<IndexListing.FailedListing> failures,
        @JsonIgnore int servers,
        boolean cut) {
    private static final ObjectMapper JSON = new ObjectMapper();

    public RepositoryIndex {
        models = List.copyOf(models);
        failures = List.copyOf(failures);
    }

    /**
     * Merges the indexes of servers: one entry per name and version. It is READY if one server is, otherwise in the
     * most advanced state.
     *
     * @param listings in configuration order, with client-side names
     */
    public static RepositoryIndex of(List<IndexListing> listings) {
        return new IndexMerge(listings).merged();
    }

    /** The failure for the client if the requests to all servers failed. */
    public Optional<OipException> failure() {
        return servers == 0 || failures.size() < servers
                ? Optional.empty()
                : Optional.of(FailureSeverity.worst(failures.stream()
                        .map(IndexListing.FailedListing::failure)
                        .toList()));
    }

    /** The entries for clients. */
    public List<IndexEntry> entries(boolean readyOnly) {
        return models.stream()
                .map(IndexedModel::merged)
                .filter(entry -> !readyOnly || entry.state() == ModelState.READY)
                .toList();
    }

    /** The index for clients, as a protobuf message. */
    public RepositoryIndexResponse response(boolean readyOnly) {
        RepositoryIndexResponse.Builder response = RepositoryIndexResponse.newBuilder();
        for (IndexEntry entry : entries(readyOnly)) {
            response.addModelsBuilder()
                    .setName(entry.name())
                    .setVersion(entry.version())
                    .setState(entry.state().text())
                    .setReason(entry.reason());
        }
        return response.build();
    }

    /** For the admin listener: the state on each server, and the failures. */
    public ObjectNode detailed() {
        return JSON.valueToTree(this);
    }

    /**
     * One model, or one version of it, with its state on each server.
     *
     * @param merged the entry for clients
     * @param replicas the servers of every upstream that has it, in the order of the sources
     */
    public record IndexedModel(
            @JsonUnwrapped IndexEntry merged,
            @JsonProperty("servers") List<ReplicaState> replicas) {

        public IndexedModel {
            replicas = List.copyOf(replicas);
        }

        /**
         * The state of a model on one server.
         *
         * @param state {@link ModelState#NONE} if nothing of the model is loaded, {@link ModelState#UNKNOWN} if the request
         *     failed
         */
        public record ReplicaState(@JsonUnwrapped ServerId source, ModelState state, String reason) {}
    }

    /**
     * Merges repository indexes. An upstream counts for a model version if one of its servers lists it: its other servers
     * should list it, too. A model without a loaded version is listed only if no version of it is known.
     */
    static final class IndexMerge {
        private static final Comparator<ModelVersion> ORDER =
                Comparator.comparing(ModelVersion::name).thenComparing(ModelVersion::version, VersionOrder.ORDER);
        private static final String NOT_LOADED = "not loaded";

        private final List<ServerIndex> servers = new ArrayList<>();

        private final List<IndexListing.FailedListing> failures = new ArrayList<>();
        private final Map<String, List<ServerIndex>> upstreams = new LinkedHashMap<>();
        /** The upstreams that list each model version. */
        private final Map<ModelVersion, Set<String>> keys = new TreeMap<>(ORDER);
        /** Names with a known version. */
        private final Set<String> versioned = new HashSet<>();

        private boolean truncated;

        private record ModelVersion(String name, String version) {}

        private record ServerIndex(IndexListing listing, Map<ModelVersion, IndexEntry> entries) {}

        IndexMerge(List<IndexListing> listings) {
            listings.forEach(this::add);
        }

        private void add(IndexListing listing) {
            Map<ModelVersion, IndexEntry> entries = new HashMap<>();
            switch (listing) {
                case IndexListing.FailedListing failed -> failures.add(failed);
                case IndexListing.ListedModels listed ->
                    listed.entries().forEach(entry -> add(listed.source(), entry, entries));
            }
            ServerIndex server = new ServerIndex(listing, entries);
            servers.add(server);
            upstreams
                    .computeIfAbsent(listing.source().upstream(), name -> new ArrayList<>())
                    .add(server);
        }

        private void add(ServerId source, IndexEntry entry, Map<ModelVersion, IndexEntry> entries) {
            ModelVersion key = new ModelVersion(entry.name(), entry.version());
            if (!keys.containsKey(key) && keys.size() == MetadataLimits.ENTRIES) {
                truncated = true;
                return;
            }
            keys.computeIfAbsent(key, unknown -> new LinkedHashSet<>()).add(source.upstream());
            if (!entry.placeholder()) {
                versioned.add(entry.name());
            }
            entries.merge(key, entry, (one, other) -> other.state().compareTo(one.state()) > 0 ? other : one);
        }

        RepositoryIndex merged() {
            List<IndexedModel> models = new ArrayList<>();
            keys.forEach((key, listing) -> {
                IndexedModel model = model(key, listing);
                if (!model.merged().placeholder() || !versioned.contains(key.name())) {
                    models.add(model);
                }
            });
            return new RepositoryIndex(models, failures, servers.size(), truncated);
        }

        private IndexedModel model(ModelVersion key, Set<String> listing) {
            List<ReplicaState> replicas = new ArrayList<>();
            Map<String, ReadyCount> counts = new LinkedHashMap<>();
            upstreams.forEach((upstream, group) -> {
                if (listing.contains(upstream)) {
                    ReadyCount count = ReadyCount.NONE;
                    for (ServerIndex server : group) {
                        ReplicaState state = state(server, key);
                        replicas.add(state);
                        count = count.plus(state.state() == ModelState.READY);
                    }
                    counts.put(upstream, count);
                }
            });
            ModelState best = best(key);
            String reason = best == ModelState.READY ? readyReason(replicas, counts) : firstReason(replicas, best);
            return new IndexedModel(new IndexEntry(key.name(), key.version(), best, reason), replicas);
        }

        /** The most advanced state that a server reports; failed listings report none. */
        private ModelState best(ModelVersion key) {
            return servers.stream()
                    .flatMap(server -> Stream.ofNullable(server.entries().get(key)))
                    .map(IndexEntry::state)
                    .max(Comparator.naturalOrder())
                    .orElse(ModelState.NONE);
        }

        private static ReplicaState state(ServerIndex server, ModelVersion key) {
            IndexEntry entry = server.entries().get(key);
            ServerId source = server.listing().source();
            if (entry != null) {
                return new ReplicaState(source, entry.state(), entry.reason());
            }
            return switch (server.listing()) {
                case IndexListing.FailedListing failed ->
                    new ReplicaState(
                            source,
                            ModelState.UNKNOWN,
                            MetadataLimits.reason(failed.failure().message()));
                case IndexListing.ListedModels listed -> new ReplicaState(source, ModelState.NONE, NOT_LOADED);
            };
        }

        private static String readyReason(List<ReplicaState> replicas, Map<String, ReadyCount> counts) {
            ReadyCount all = counts.values().stream().reduce(ReadyCount.NONE, ReadyCount::plus);
            if (all.ready() == all.total()) {
                return firstReason(replicas, ModelState.READY);
            }
            String upstreams = counts.entrySet().stream()
                    .map(each -> each.getKey() + (counts.size() == 1 ? "" : " " + each.getValue()))
                    .collect(Collectors.joining(", "));
            return "ready on " + all + ": " + upstreams;
        }

        private static String firstReason(List<ReplicaState> replicas, ModelState state) {
            return replicas.stream()
                    .filter(replica ->
                            replica.state() == state && !replica.reason().isEmpty())
                    .map(ReplicaState::reason)
                    .findFirst()
                    .orElse("");
        }
    }
}

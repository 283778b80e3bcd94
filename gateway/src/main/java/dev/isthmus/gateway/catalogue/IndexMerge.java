package dev.isthmus.gateway.catalogue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Merges repository indexes. An upstream counts for a model where one of its servers lists that version: its other servers then
 * should as well. That a repository has a model of which nothing is loaded is told only where no version of it is known.
 */
final class IndexMerge {
    private static final Comparator<Key> ORDER =
            Comparator.comparing(Key::name).thenComparing(Key::version, Versions.ORDER);
    private static final String NOT_LOADED = "not loaded";

    private final List<Server> servers = new ArrayList<>();

    private final List<Listing.Failed> failures = new ArrayList<>();
    /** Which servers each upstream has. */
    private final Map<String, List<Server>> upstreams = new LinkedHashMap<>();
    /** Which upstreams list each model. */
    private final Map<Key, Set<String>> keys = new TreeMap<>(ORDER);
    /** Names of which a version is known. */
    private final Set<String> versioned = new HashSet<>();

    private boolean cut;

    /** A name and a version. */
    private record Key(String name, String version) {}

    /** One server and what it says. */
    private record Server(Listing listing, Map<Key, IndexEntry> entries) {}

    IndexMerge(List<Listing> listings) {
        listings.forEach(this::add);
    }

    private void add(Listing listing) {
        Map<Key, IndexEntry> entries = new HashMap<>();
        switch (listing) {
            case Listing.Failed failed -> failures.add(failed);
            case Listing.Listed listed -> listed.entries().forEach(entry -> add(listed.source(), entry, entries));
        }
        Server server = new Server(listing, entries);
        servers.add(server);
        upstreams
                .computeIfAbsent(listing.source().upstream(), name -> new ArrayList<>())
                .add(server);
    }

    private void add(Source source, IndexEntry entry, Map<Key, IndexEntry> entries) {
        Key key = new Key(entry.name(), entry.version());
        if (!keys.containsKey(key) && keys.size() == Bounds.ENTRIES) {
            cut = true;
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
        return new RepositoryIndex(models, failures, servers.size(), cut);
    }

    private IndexedModel model(Key key, Set<String> listing) {
        List<ReplicaState> replicas = new ArrayList<>();
        Map<String, Tally> tallies = new LinkedHashMap<>();
        upstreams.forEach((upstream, group) -> {
            if (listing.contains(upstream)) {
                Tally tally = Tally.NONE;
                for (Server server : group) {
                    ReplicaState state = state(server, key);
                    replicas.add(state);
                    tally = tally.plus(state.state() == ModelState.READY);
                }
                tallies.put(upstream, tally);
            }
        });
        ModelState best = best(key);
        String reason = best == ModelState.READY ? readyReason(replicas, tallies) : firstReason(replicas, best);
        return new IndexedModel(new IndexEntry(key.name(), key.version(), best, reason), replicas);
    }

    /** The most advanced state that a server gives; one that could not be asked gives none. */
    private ModelState best(Key key) {
        ModelState best = ModelState.NONE;
        for (Server server : servers) {
            IndexEntry entry = server.entries().get(key);
            if (entry != null && entry.state().compareTo(best) > 0) {
                best = entry.state();
            }
        }
        return best;
    }

    private static ReplicaState state(Server server, Key key) {
        IndexEntry entry = server.entries().get(key);
        Source source = server.listing().source();
        if (entry != null) {
            return new ReplicaState(source, entry.state(), entry.reason());
        }
        return switch (server.listing()) {
            case Listing.Failed failed ->
                new ReplicaState(
                        source,
                        ModelState.UNKNOWN,
                        Bounds.reason(failed.failure().message()));
            case Listing.Listed listed -> new ReplicaState(source, ModelState.NONE, NOT_LOADED);
        };
    }

    private static String readyReason(List<ReplicaState> replicas, Map<String, Tally> tallies) {
        Tally all = tallies.values().stream().reduce(Tally.NONE, Tally::plus);
        if (all.ready() == all.total()) {
            return firstReason(replicas, ModelState.READY);
        }
        if (tallies.size() == 1) {
            return "ready on " + all + ": " + String.join("", tallies.keySet());
        }
        List<String> each = new ArrayList<>();
        tallies.forEach((upstream, tally) -> each.add(upstream + " " + tally));
        return "ready on " + all + ": " + String.join(", ", each);
    }

    private static String firstReason(List<ReplicaState> replicas, ModelState state) {
        return replicas.stream()
                .filter(replica -> replica.state() == state && !replica.reason().isEmpty())
                .map(ReplicaState::reason)
                .findFirst()
                .orElse("");
    }
}

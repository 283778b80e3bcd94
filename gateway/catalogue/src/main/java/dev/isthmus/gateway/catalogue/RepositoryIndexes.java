package dev.isthmus.gateway.catalogue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import io.netty.buffer.ByteBufUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The repository indexes of all servers that have one, polled every five seconds, or on demand if the last result is
 * older than a second. Used on the catalogue's loop, except for published results.
 */
final class RepositoryIndexes {
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(5);
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int MAX_WAITERS = 10_000;

    private final ServerRecords records;
    private final Set<Upstream> discovering;
    private final CatalogueRequests requests;
    private final LongSupplier nanoTime;
    private final PollSchedule<Upstream> schedule;
    /** By upstream and name there: additional client-side names of its models, from targets that rename them. */
    private final Map<Upstream, Map<String, Set<String>>> renamed = new HashMap<>();

    private final ModelLocations locations;
    /** Clients that wait for servers in flight. */
    private final List<PendingIndex> waiters = new ArrayList<>();

    private boolean stale;
    /** The servers of the published index. */
    private List<ServerRecord> merged = List.of();

    private volatile Published published = new Published(RepositoryIndex.of(List.of()), Map.of(), Map.of());

    /**
     * What is read on any thread.
     *
     * @param discovered upstreams with model discovery by the models they list, the first of several
     * @param ready the versions that are ready, of all models in the index
     */
    private record Published(
            RepositoryIndex index, Map<String, Upstream> discovered, Map<String, List<String>> ready) {}

    /**
     * @param of the servers whose listings are waited for
     * @param since the oldest acceptable time of a listing
     */
    private record PendingIndex(Predicate<ServerRecord> of, long since, Consumer<RepositoryIndex> then) {}

    RepositoryIndexes(
            ServerRecords records,
            ModelLocations locations,
            Set<Upstream> discovering,
            CatalogueRequests requests,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.records = records;
        this.locations = locations;
        this.discovering = discovering;
        this.requests = requests;
        this.nanoTime = nanoTime;
        this.schedule = new PollSchedule<>(POLL_INTERVAL, nanoTime, random);
        for (ModelLocation location : locations.configured()) {
            String name = location.requested().name();
            for (Target target : location.targets()) {
                if (!target.model().name().equals(name)) {
                    renamed.computeIfAbsent(target.upstream(), upstream -> new HashMap<>())
                            .computeIfAbsent(target.model().name(), there -> new LinkedHashSet<>())
                            .add(name);
                }
            }
        }
    }

    /** Whether clients use another name for some model than its upstream. */
    boolean renames() {
        return !renamed.isEmpty();
    }

    /** The newest index, on any thread. */
    RepositoryIndex index() {
        return published.index();
    }

    /** The upstreams that discover their models, by the models that they list, the first of several, on any thread. */
    Map<String, Upstream> discovered() {
        return published.discovered();
    }

    /** The names under which clients reach the models that servers list; on any thread. */
    Set<String> names() {
        return published.ready().keySet();
    }

    /**
     * A model's metadata with all versions that clients may ask for, if the configuration chooses one for those who do
     * not: its server then names only that one. On any thread.
     */
    ModelMetadata withVersions(ModelLocation location, ModelMetadata described) {
        ModelRef requested = location.requested();
        List<String> ready = published.ready().getOrDefault(requested.name(), List.of());
        if (!requested.version().isEmpty()
                || described.versions().containsAll(ready)
                || location.targets().stream()
                        .allMatch(target -> target.model().version().isEmpty())) {
            return described;
        }
        Set<String> versions = new TreeSet<>(VersionOrder.ORDER);
        versions.addAll(described.versions());
        versions.addAll(ready);
        return described.with(described.name(), List.copyOf(versions), described.platform());
    }

    void tick() {
        for (ServerRecord server : listing()) {
            if (schedule.begin(server.server())) {
                server.requestedNanos = nanoTime.getAsLong();
                request(server);
            }
        }
        schedule.retain(records.servers());
        notifyWaiters();
    }

    private List<ServerRecord> listing() {
        return records.all().stream()
                .filter(server -> server.indexed() || server.listed())
                .toList();
    }

    private void request(ServerRecord server) {
        long requestedNanos = server.requestedNanos;
        boolean indexed = server.indexed();
        CatalogueRequests.ResultHandler handler =
                (message, failure) -> received(server, requestedNanos, read(server, indexed, message, failure));
        if (indexed) {
            requests.repositoryIndex(server.server(), handler);
        } else {
            requests.modelNames(server.server(), handler);
        }
    }

    /** Gets the index with no listing older than a second. */
    void fresh(Consumer<RepositoryIndex> then) {
        if (waiters.size() == MAX_WAITERS) {
            then.accept(index());
            return;
        }
        long since = nanoTime.getAsLong() - FRESH_NANOS;
        waiters.add(new PendingIndex(server -> true, since, then));
        for (ServerRecord server : listing()) {
            if (server.requestedNanos - since < 0 || server.listing == null) {
                schedule.pollNow(server.server());
            }
        }
        tick();
    }

    /**
     * Models of these upstreams were loaded or unloaded: polls them now.
     *
     * @return completes when calls for discovered models are routed accordingly
     */
    CompletableFuture<Void> refresh(Set<Upstream> upstreams) {
        CompletableFuture<Void> listed = new CompletableFuture<>();
        waiters.add(new PendingIndex(
                server -> upstreams.contains(server.upstream) && discovering.contains(server.upstream),
                nanoTime.getAsLong(),
                index -> listed.complete(null)));
        long old = nanoTime.getAsLong() - 2 * FRESH_NANOS;
        for (ServerRecord server : listing()) {
            if (upstreams.contains(server.upstream)) {
                server.listedNanos = old;
                server.requestedNanos = old;
                schedule.pollNow(server.server());
            }
        }
        tick();
        return listed;
    }

    /** The server is ready again: polls it now. */
    void returned(ServerRecord server) {
        schedule.pollNow(server.server());
    }

    private void notifyWaiters() {
        if (waiters.isEmpty()) {
            return;
        }
        List<ServerRecord> listing = listing();
        List<PendingIndex> satisfied = waiters.stream()
                .filter(waiter -> listing.stream()
                        .filter(waiter.of())
                        .allMatch(server -> server.listing != null && server.listedNanos - waiter.since() >= 0))
                .toList();
        if (!satisfied.isEmpty()) {
            waiters.removeAll(satisfied);
            publish();
            satisfied.forEach(waiter -> waiter.then().accept(index()));
        }
    }

    /**
     * Merges the latest listings, if they or the servers changed; merging after each response would be too expensive for
     * a large fleet.
     */
    void publish() {
        List<ServerRecord> servers = listing();
        if (stale || !servers.equals(merged)) {
            stale = false;
            merged = servers;
            List<IndexListing> listings = new ArrayList<>();
            Map<String, Upstream> discovered = new HashMap<>();
            for (ServerRecord server : servers) {
                if (discovering.contains(server.upstream)) {
                    server.names.forEach(name -> discovered.putIfAbsent(name, server.upstream));
                }
            }
            // Routes to discovered models follow from it.
            published = new Published(published.index(), Map.copyOf(discovered), published.ready());
            for (ServerRecord server : servers) {
                if (server.listing != null) {
                    listings.add(reachable(server, server.listing));
                }
            }
            RepositoryIndex index = RepositoryIndex.of(listings);
            published = new Published(index, published.discovered(), ready(index));
        }
    }

    private static Map<String, List<String>> ready(RepositoryIndex index) {
        Map<String, List<String>> ready = new HashMap<>();
        for (IndexEntry entry : index.entries(false)) {
            List<String> versions = ready.computeIfAbsent(entry.name(), name -> new ArrayList<>(1));
            if (entry.state() == ModelState.READY && !entry.version().isEmpty()) {
                versions.add(entry.version());
            }
        }
        return ready;
    }

    /** The models that calls can get to there, under the names that clients use for them. */
    private IndexListing reachable(ServerRecord server, IndexListing listing) {
        if (!(listing instanceof IndexListing.ListedModels listed)) {
            return listing;
        }
        Map<String, Set<String>> others = renamed.getOrDefault(server.upstream, Map.of());
        List<IndexEntry> entries = new ArrayList<>();
        for (IndexEntry entry : listed.entries()) {
            Set<String> clients = new LinkedHashSet<>(Set.of(entry.name()));
            clients.addAll(others.getOrDefault(entry.name(), Set.of()));
            clients.stream()
                    .filter(name -> locations.lead(new ModelRef(name, entry.version()), server.upstream, entry.name()))
                    .forEach(name -> entries.add(entry.named(name)));
        }
        return new IndexListing.ListedModels(listed.source(), entries);
    }

    private static IndexListing read(
            ServerRecord server, boolean indexed, @Nullable ReplyMessage message, @Nullable OipException failure) {
        if (!(message instanceof ReplyMessage.Document document)) {
            return new IndexListing.FailedListing(server.source(), Objects.requireNonNull(failure));
        }
        byte[] content = ByteBufUtil.getBytes(document.content());
        if (!indexed) {
            return IndexListing.ofNames(server.source(), content, name -> ready(server, name));
        }
        try {
            return IndexListing.of(server.source(), RepositoryIndexResponse.parseFrom(content));
        } catch (InvalidProtocolBufferException e) {
            OipException malformed = new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "upstream '" + server.upstream.name() + "' sent an index that violates the protocol",
                    e);
            return new IndexListing.FailedListing(server.source(), malformed);
        }
    }

    /** KServe's list does not contain the state; models that are not configured are not checked. */
    private static boolean ready(ServerRecord server, String name) {
        ModelRef model = ModelRef.of(name);
        return server.member.models().containsKey(model) ? server.isReady(model) : server.isReady();
    }

    private void received(ServerRecord server, long requestedNanos, IndexListing listing) {
        if (server.listing == null || !listing.sameAs(server.listing)) {
            stale = true;
            server.listing = listing;
            if (listing instanceof IndexListing.ListedModels listed) {
                server.names = listed.entries().stream().map(IndexEntry::name).collect(Collectors.toUnmodifiableSet());
            }
        }
        server.listedNanos = requestedNanos;
        schedule.ended(server.server());
        tick();
    }
}

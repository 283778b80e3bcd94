package dev.isthmus.gateway.catalogue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import io.netty.buffer.ByteBufUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * The repository indexes of all servers that have one, asked for every five seconds, or when a client wants it and what is
 * known is older than a second. Used on the catalogue's loop, but for what it publishes.
 */
final class RepositoryIndexes {
    private static final Duration PERIOD = Duration.ofSeconds(5);
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int WAITERS = 10_000;

    private final ServerRecords watches;
    private final Set<Upstream> discovering;
    private final CatalogueRequests questions;
    private final ConcurrencyLimiter lane;
    private final LongSupplier nanoTime;
    private final PollSchedule<Upstream> rounds;
    /** By upstream: what its models are called by clients besides, where a target renames them. */
    private final Map<Upstream, List<RenamedModel>> renamed = new HashMap<>();
    /** Those who want to know, and wait for the servers under way. */
    private final List<PendingIndex> waiters = new ArrayList<>();

    private boolean stale;
    private volatile Published published = new Published(RepositoryIndex.of(List.of()), Map.of(), Set.of());

    /**
     * @param discovered upstreams by the models that are routed to them because they list them
     * @param names of all models that servers list
     */
    private record Published(RepositoryIndex index, Map<String, Upstream> discovered, Set<String> names) {}

    /** @param since no server may have been asked before */
    private record PendingIndex(long since, Consumer<RepositoryIndex> then) {}

    /** @param model the name there; a version of it alone where one is named */
    private record RenamedModel(String client, ModelRef model) {}

    /** @param discovering the upstreams whose models are all routed to them */
    RepositoryIndexes(
            ServerRecords watches,
            ModelLocations places,
            Set<Upstream> discovering,
            CatalogueRequests questions,
            ConcurrencyLimiter lane,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.watches = watches;
        this.discovering = discovering;
        this.questions = questions;
        this.lane = lane;
        this.nanoTime = nanoTime;
        this.rounds = new PollSchedule<>(PERIOD, nanoTime, random);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
                if (!target.model().name().equals(name)) {
                    renamed.computeIfAbsent(target.upstream(), upstream -> new ArrayList<>())
                            .add(new RenamedModel(name, target.model()));
                }
            }
        }
    }

    /** Whether a client's name differs from what the upstream calls its model. */
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

    /** Whether a server lists a model of this name, on any thread. */
    boolean lists(String model) {
        return published.names().contains(model);
    }

    void tick() {
        for (ServerRecord watch : listing()) {
            if (rounds.begin(watch.server())) {
                watch.askedNanos = nanoTime.getAsLong();
                lane.ask(() -> ask(watch));
            }
        }
        rounds.retain(watches.servers());
        tell();
    }

    private List<ServerRecord> listing() {
        return watches.all().stream()
                .filter(watch -> watch.indexed() || watch.listed())
                .toList();
    }

    private void ask(ServerRecord watch) {
        if (watch.indexed()) {
            questions.repositoryIndex(watch.server(), new IndexReader(watch, false));
        } else {
            questions.modelNames(watch.server(), new IndexReader(watch, true));
        }
    }

    /** The index, of which nothing was asked for more than a second ago. */
    void fresh(Consumer<RepositoryIndex> then) {
        if (waiters.size() == WAITERS) {
            then.accept(index());
            return;
        }
        long since = nanoTime.getAsLong() - FRESH_NANOS;
        waiters.add(new PendingIndex(since, then));
        for (ServerRecord watch : listing()) {
            if (watch.askedNanos - since < 0 || watch.listing == null) {
                rounds.hurry(watch.server());
            }
        }
        tick();
    }

    /** Models of these upstreams were loaded or unloaded. */
    void hurry(Set<Upstream> upstreams) {
        long old = nanoTime.getAsLong() - 2 * FRESH_NANOS;
        for (ServerRecord watch : listing()) {
            if (upstreams.contains(watch.upstream)) {
                watch.listedNanos = old;
                watch.askedNanos = old;
                rounds.hurry(watch.server());
            }
        }
        tick();
    }

    /** A server is ready again. */
    void returned(ServerRecord watch) {
        rounds.hurry(watch.server());
    }

    private void tell() {
        if (waiters.isEmpty()) {
            return;
        }
        List<ServerRecord> listing = listing();
        List<PendingIndex> told = waiters.stream()
                .filter(waiter -> listing.stream()
                        .allMatch(watch -> watch.listing != null && watch.listedNanos - waiter.since() >= 0))
                .toList();
        if (!told.isEmpty()) {
            waiters.removeAll(told);
            publish();
            told.forEach(waiter -> waiter.then().accept(index()));
        }
    }

    /** Merges what has come since; merging a large fleet's index for each answer would cost too much. */
    void publish() {
        if (stale) {
            stale = false;
            List<IndexListing> listings = new ArrayList<>();
            Map<String, Upstream> discovered = new HashMap<>();
            for (ServerRecord watch : listing()) {
                if (watch.listing != null) {
                    listings.add(asClientsKnow(watch, watch.listing));
                }
                if (discovering.contains(watch.upstream)) {
                    watch.names.forEach(name -> discovered.putIfAbsent(name, watch.upstream));
                }
            }
            Set<String> names = listings.stream()
                    .filter(IndexListing.ListedModels.class::isInstance)
                    .flatMap(listing -> ((IndexListing.ListedModels) listing).entries().stream())
                    .map(IndexEntry::name)
                    .collect(Collectors.toUnmodifiableSet());
            published = new Published(RepositoryIndex.of(listings), Map.copyOf(discovered), names);
        }
    }

    /** Under their own names, and besides under those that targets rename. */
    private IndexListing asClientsKnow(ServerRecord watch, IndexListing listing) {
        List<RenamedModel> others = renamed.get(watch.upstream);
        if (others == null || !(listing instanceof IndexListing.ListedModels listed)) {
            return listing;
        }
        List<IndexEntry> entries = new ArrayList<>(listed.entries());
        for (IndexEntry entry : listed.entries()) {
            for (RenamedModel other : others) {
                boolean version = other.model().version().isEmpty()
                        || other.model().version().equals(entry.version());
                if (version && entry.name().equals(other.model().name())) {
                    entries.add(entry.named(other.client()));
                }
            }
        }
        return new IndexListing.ListedModels(listed.source(), entries);
    }

    private final class IndexReader implements CatalogueRequests.ResultHandler {
        private final ServerRecord watch;
        private final long asked;
        private final boolean names;

        IndexReader(ServerRecord watch, boolean names) {
            this.watch = watch;
            this.asked = watch.askedNanos;
            this.names = names;
        }

        @Override
        public void answer(ReplyMessage answer) {
            try {
                heard(read(answer));
            } catch (InvalidProtocolBufferException e) {
                failed(new OipException(
                        ErrorCode.BAD_UPSTREAM_ANSWER,
                        "upstream '" + watch.upstream.name() + "' sent an index that is not the protocol's",
                        e));
            } finally {
                answer.release();
            }
        }

        private IndexListing read(ReplyMessage answer) throws InvalidProtocolBufferException {
            if (!(answer instanceof ReplyMessage.Document document)) {
                throw new InvalidProtocolBufferException("a document is expected");
            }
            byte[] content = ByteBufUtil.getBytes(document.content());
            return names
                    ? IndexListing.ofNames(watch.source(), content, this::ready)
                    : IndexListing.of(watch.source(), RepositoryIndexResponse.parseFrom(content));
        }

        /** KServe's list does not say; of models that are not configured nobody asks. */
        private boolean ready(String name) {
            ModelRef model = ModelRef.of(name);
            return watch.member.models().containsKey(model) ? watch.isReady(model) : watch.isReady();
        }

        @Override
        public void failed(OipException failure) {
            heard(new IndexListing.FailedListing(watch.source(), failure));
        }

        private void heard(IndexListing listing) {
            if (listing instanceof IndexListing.ListedModels listed) {
                watch.names = listed.entries().stream().map(IndexEntry::name).collect(Collectors.toUnmodifiableSet());
            }
            watch.listing = listing;
            watch.listedNanos = asked;
            stale = true;
            rounds.ended(watch.server());
            lane.ended();
            tick();
        }
    }
}

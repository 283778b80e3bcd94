package dev.isthmus.gateway.catalogue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Answer;
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
final class Indexes {
    private static final Duration PERIOD = Duration.ofSeconds(5);
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int WAITERS = 10_000;

    private final Watches watches;
    private final Set<Upstream> discovering;
    private final Questions questions;
    private final Lane lane;
    private final LongSupplier nanoTime;
    private final Rounds<Upstream> rounds;
    /** By upstream: what its models are called by clients besides, where a target renames them. */
    private final Map<Upstream, List<Renamed>> renamed = new HashMap<>();
    /** Those who want to know, and wait for the servers under way. */
    private final List<Waiter> waiters = new ArrayList<>();

    private boolean stale;
    private volatile Published published = new Published(RepositoryIndex.of(List.of()), Map.of(), Set.of());

    /**
     * @param discovered upstreams by the models that are routed to them because they list them
     * @param names of all models that servers list
     */
    private record Published(RepositoryIndex index, Map<String, Upstream> discovered, Set<String> names) {}

    /** @param since no server may have been asked before */
    private record Waiter(long since, Consumer<RepositoryIndex> then) {}

    /** @param model the name there; a version of it alone where one is named */
    private record Renamed(String client, ModelRef model) {}

    /** @param discovering the upstreams whose models are all routed to them */
    Indexes(
            Watches watches,
            Places places,
            Set<Upstream> discovering,
            Questions questions,
            Lane lane,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.watches = watches;
        this.discovering = discovering;
        this.questions = questions;
        this.lane = lane;
        this.nanoTime = nanoTime;
        this.rounds = new Rounds<>(PERIOD, nanoTime, random);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
                if (!target.model().name().equals(name)) {
                    renamed.computeIfAbsent(target.upstream(), upstream -> new ArrayList<>())
                            .add(new Renamed(name, target.model()));
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
        for (Watch watch : listing()) {
            if (rounds.begin(watch.server())) {
                watch.askedNanos = nanoTime.getAsLong();
                lane.ask(() -> ask(watch));
            }
        }
        rounds.retain(watches.servers());
        tell();
    }

    private List<Watch> listing() {
        return watches.all().stream()
                .filter(watch -> watch.indexed() || watch.listed())
                .toList();
    }

    private void ask(Watch watch) {
        if (watch.indexed()) {
            questions.repositoryIndex(watch.server(), new Reading(watch, false));
        } else {
            questions.modelNames(watch.server(), new Reading(watch, true));
        }
    }

    /** The index, of which nothing was asked for more than a second ago. */
    void fresh(Consumer<RepositoryIndex> then) {
        if (waiters.size() == WAITERS) {
            then.accept(index());
            return;
        }
        long since = nanoTime.getAsLong() - FRESH_NANOS;
        waiters.add(new Waiter(since, then));
        for (Watch watch : listing()) {
            if (watch.askedNanos - since < 0 || watch.listing == null) {
                rounds.hurry(watch.server());
            }
        }
        tick();
    }

    /** Models of these upstreams were loaded or unloaded. */
    void hurry(Set<Upstream> upstreams) {
        long old = nanoTime.getAsLong() - 2 * FRESH_NANOS;
        for (Watch watch : listing()) {
            if (upstreams.contains(watch.upstream)) {
                watch.listedNanos = old;
                watch.askedNanos = old;
                rounds.hurry(watch.server());
            }
        }
        tick();
    }

    /** A server is ready again. */
    void returned(Watch watch) {
        rounds.hurry(watch.server());
    }

    private void tell() {
        if (waiters.isEmpty()) {
            return;
        }
        List<Watch> listing = listing();
        List<Waiter> told = waiters.stream()
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
            List<Listing> listings = new ArrayList<>();
            Map<String, Upstream> discovered = new HashMap<>();
            for (Watch watch : listing()) {
                if (watch.listing != null) {
                    listings.add(asClientsKnow(watch, watch.listing));
                }
                if (discovering.contains(watch.upstream)) {
                    watch.names.forEach(name -> discovered.putIfAbsent(name, watch.upstream));
                }
            }
            Set<String> names = listings.stream()
                    .filter(Listing.Listed.class::isInstance)
                    .flatMap(listing -> ((Listing.Listed) listing).entries().stream())
                    .map(IndexEntry::name)
                    .collect(Collectors.toUnmodifiableSet());
            published = new Published(RepositoryIndex.of(listings), Map.copyOf(discovered), names);
        }
    }

    /** Under their own names, and besides under those that targets rename. */
    private Listing asClientsKnow(Watch watch, Listing listing) {
        List<Renamed> others = renamed.get(watch.upstream);
        if (others == null || !(listing instanceof Listing.Listed listed)) {
            return listing;
        }
        List<IndexEntry> entries = new ArrayList<>(listed.entries());
        for (IndexEntry entry : listed.entries()) {
            for (Renamed other : others) {
                boolean version = other.model().version().isEmpty()
                        || other.model().version().equals(entry.version());
                if (version && entry.name().equals(other.model().name())) {
                    entries.add(entry.named(other.client()));
                }
            }
        }
        return new Listing.Listed(listed.source(), entries);
    }

    private final class Reading implements Questions.Heard {
        private final Watch watch;
        private final long asked;
        private final boolean names;

        Reading(Watch watch, boolean names) {
            this.watch = watch;
            this.asked = watch.askedNanos;
            this.names = names;
        }

        @Override
        public void answer(Answer answer) {
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

        private Listing read(Answer answer) throws InvalidProtocolBufferException {
            if (!(answer instanceof Answer.Document document)) {
                throw new InvalidProtocolBufferException("a document is expected");
            }
            byte[] content = ByteBufUtil.getBytes(document.content());
            return names
                    ? Listing.ofNames(watch.source(), content, this::ready)
                    : Listing.of(watch.source(), RepositoryIndexResponse.parseFrom(content));
        }

        /** KServe's list does not say; of models that are not configured nobody asks. */
        private boolean ready(String name) {
            ModelRef model = ModelRef.of(name);
            return watch.models.containsKey(model) ? watch.isReady(model) : watch.isReady();
        }

        @Override
        public void failed(OipException failure) {
            heard(new Listing.Failed(watch.source(), failure));
        }

        private void heard(Listing listing) {
            if (listing instanceof Listing.Listed listed) {
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

package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.catalogue.CatalogueRequests.CatalogueMeters;
import dev.isthmus.gateway.catalogue.FleetSnapshots.FleetSnapshot;
import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.catalogue.ModelMetadataCache.NamedReply;
import dev.isthmus.gateway.catalogue.OnDemandChecks.ModelOnServer;
import dev.isthmus.gateway.catalogue.RepositoryIndex.IndexedModel;
import dev.isthmus.gateway.catalogue.RepositoryIndex.IndexedModel.ReplicaState;
import dev.isthmus.gateway.catalogue.ServerRecords.ServerModel;
import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
import dev.isthmus.gateway.fleet.ClusterResources;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ModelMetadataRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ModelReadyRequest;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The readiness, metadata and repository index of the servers behind the gateway, presented as one server. It polls
 * them in the background and answers clients from a snapshot, so that one client request never fans out; what was not
 * polled is looked up once for all concurrent clients. All requests are sent on one event loop; results may be read on
 * any thread.
 */
public final class Catalogue implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Catalogue.class);
    private static final long TICK_MILLIS = 250;
    private static final int MAX_IN_FLIGHT = 4;
    private static final ReplicaState UNCHECKED = new ReplicaState(new ServerId("", ""), ModelState.UNKNOWN, "");

    private final List<Upstream> upstreams;
    private final ModelLocations locations;
    private final EventLoop loop;
    private final ServerRecords records;
    private final FleetSnapshots snapshots;
    private final ServerRecords.MetadataPolls servers;
    private final RepositoryIndexes indexes;
    private final ModelMetadataCache models;
    private final OnDemandChecks onDemand;
    private final CatalogueMeters meters;
    private final GatewayReadiness gateway;
    private final boolean readyBefore;
    /** Upstreams of the previous configuration that are not in this one. */
    private final Set<Upstream> gone;

    private final CompletableFuture<Void> surveyed = new CompletableFuture<>();
    private @Nullable ScheduledFuture<?> ticks;

    /**
     * The catalogue's settings.
     *
     * @param self the gateway's own metadata
     * @param policy when the gateway is ready
     * @param discovering upstreams whose models are discovered and routed to them
     */
    public record Settings(ServerMetadata self, ServerReadyPolicy policy, Set<Upstream> discovering) {

        public Settings {
            discovering = Set.copyOf(discovering);
        }
    }

    /**
     * The gateway's resources that the catalogue uses.
     *
     * @param loop an event loop
     * @param fleet those that it shares with the upstreams
     * @param gateway the gateway's own readiness, without which nothing is ready
     */
    public record CatalogueResources(EventLoop loop, ClusterResources fleet, GatewayReadiness gateway) {}

    /**
     * A catalogue that has not polled any server. It knows of servers and models that did not change what the previous
     * one knew, and has its loop, and its readiness until every server was checked. Blocks until it has asked that one.
     *
     * @param upstreams in order of precedence if servers disagree
     * @param previous of the previous configuration; null for the first
     */
    public Catalogue(
            List<Upstream> upstreams,
            ModelLocations locations,
            Settings settings,
            CatalogueResources resources,
            IndexRequest index,
            @Nullable Catalogue previous) {
        this.upstreams = List.copyOf(upstreams);
        this.locations = locations;
        this.loop = previous == null ? resources.loop() : previous.loop;
        Map<Upstream, ServerRecord> known = previous == null
                ? Map.of()
                : CompletableFuture.supplyAsync(previous.records::copies, loop).join();
        this.records = new ServerRecords(upstreams, locations, known);
        this.gone = new HashSet<>(previous == null ? List.of() : previous.upstreams);
        gone.removeAll(upstreams);
        this.snapshots = new FleetSnapshots(settings, locations, records, loop);
        ClusterResources fleet = resources.fleet();
        this.meters = previous == null ? new CatalogueMeters(fleet.meters()) : previous.meters;
        this.gateway = resources.gateway();
        this.readyBefore = previous != null && previous.ready();
        LongSupplier time = fleet.nanoTime();
        CatalogueRequests requests =
                new CatalogueRequests(loop, fleet.allocator(), meters::failed, index, MAX_IN_FLIGHT);
        // Clients wait for them, and not behind the polls of all models.
        CatalogueRequests listings = requests.atMost(MAX_IN_FLIGHT);
        this.indexes =
                new RepositoryIndexes(records, locations, settings.discovering(), listings, time, fleet.random());
        this.models = new ModelMetadataCache(
                records, locations, requests, previous == null ? null : previous.models, time, fleet.random());
        this.onDemand = new OnDemandChecks(requests, time);
        this.servers = records.new MetadataPolls(requests, time, fleet.random(), this::returned, snapshots::changed);
    }

    /** Servers became ready, for the first time or again: their metadata may have changed. */
    private void returned(List<ServerRecord> servers) {
        servers.forEach(indexes::returned);
        models.refresh(servers.stream().map(server -> server.upstream).collect(Collectors.toUnmodifiableSet()));
    }

    /** This is to run, on an event loop, when models of some upstreams were loaded or have changed. */
    public void whenChanged(Consumer<Set<Upstream>> listener) {
        models.whenChanged(listener);
    }

    /** Starts polling, in place of the previous catalogue. What that one knew is shown when this returns. Blocks. */
    public void start() {
        meters.show(this, locations.configured());
        loop.execute(() -> models.begin(gone));
        Runnable tick = RepeatingLogEvent.guarded(LOG, "internal error in the catalogue; please report it", this::tick);
        CompletableFuture.runAsync(tick, loop).join();
        ticks = loop.scheduleWithFixedDelay(tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void tick() {
        if (records.refresh()) {
            snapshots.changed();
        }
        servers.tick();
        indexes.tick();
        models.tick();
        indexes.publish();
        if (!surveyed.isDone()
                && records.allChecked()
                && readyModels().size() == locations.configured().size()
                && servers.settled()
                && models.settled()) {
            snapshots.take();
            surveyed.complete(null);
        }
    }

    /** Completes when every server was checked and asked what it is, and every configured model was asked for on each. */
    public CompletableFuture<Void> surveyed() {
        return surveyed;
    }

    /** The readiness reported to V2 clients: that of the gateway itself and, by the policy, of its servers. */
    public boolean ready() {
        return notReady().isEmpty();
    }

    /** Why V2 clients are told that the gateway is not ready; empty if it is ready. */
    public String notReady() {
        String obstacle = gateway.obstacle();
        if (obstacle != null) {
            return obstacle;
        }
        FleetSnapshot now = snapshots.now();
        return readyBefore && !now.settled() ? "" : now.server().reason();
    }

    /** Whether every server has been checked. */
    public boolean settled() {
        return snapshots.now().settled();
    }

    /** The gateway's metadata, with the extensions of the fleet. */
    public ServerMetadata serverMetadata() {
        return snapshots.now().metadata();
    }

    /**
     * Reports whether a model is ready: the reply receives one {@code ReplyMessage.ModelReadyState}.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        ModelLocation location = locations.of(model);
        if (location.configured() && model.version().isEmpty()) {
            Boolean ready = snapshots.now().models().get(model.name());
            if (ready != null) {
                reply.only(new ReplyMessage.ModelReadyState(model, ready));
                return Subscription.NONE;
            }
        }
        Function<Boolean, ReplyMessage> toMessage = ready -> new ReplyMessage.ModelReadyState(model, ready);
        Function<LookupResult<Boolean>, Subscription> deliver =
                found -> deliver(call, location, found, toMessage, ModelReadyRequest::new, reply);
        return new PendingClient<>(call, reply, deliver).begin(loop, then -> checkReady(location, then));
    }

    /** Determines by on-demand checks and the model's policy whether it is ready, if active checks have no result. */
    private void checkReady(ModelLocation location, Consumer<LookupResult<Boolean>> then) {
        List<ServerModel> chosen = records.of(location, ServerRecords.MAX_SERVERS);
        int lost = records.lost(location, chosen);
        List<ModelOnServer> checked = chosen.stream()
                .map(server -> new ModelOnServer(server.record().server(), server.model()))
                .toList();
        onDemand.check(checked, found -> then.accept(OnDemandChecks.ready(location.policy(), lost, found)));
    }

    /**
     * Reports the metadata of a model: the reply receives one {@code ReplyMessage.Model}.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        // Throws for a model that is no longer routed, even if its metadata are still cached.
        ModelLocation location = locations.of(model);
        Function<ModelMetadata, ReplyMessage> toMessage =
                is -> new ReplyMessage.Model(indexes.withVersions(location, is));
        Function<LookupResult<ModelMetadata>, Subscription> deliver =
                found -> deliver(call, location, found, toMessage, ModelMetadataRequest::new, reply);
        Optional<LookupResult<ModelMetadata>> known = models.metadata().known(location);
        return known.isPresent()
                ? deliver.apply(known.get())
                : new PendingClient<>(call, reply, deliver).begin(loop, then -> models.describe(location, then));
    }

    /** @param request the client's own, which is sent to a target with the client's headers if need be */
    private static <T> Subscription deliver(
            Call call,
            ModelLocation location,
            LookupResult<T> found,
            Function<T, ReplyMessage> toMessage,
            Function<ModelRef, UpstreamRequest> request,
            Reply reply) {
        switch (found) {
            case LookupResult.Value<T> value -> reply.only(toMessage.apply(value.value()));
            case LookupResult.Failure<T> failure -> {
                ErrorCode code = failure.failure().code();
                // The server requires credentials, which only the client has.
                if (code == ErrorCode.UNAUTHENTICATED || code == ErrorCode.PERMISSION_DENIED) {
                    Target first = location.targets().getFirst();
                    Reply named = new NamedReply(location.requested(), reply);
                    return first.upstream().send(call, request.apply(first.model()), named);
                }
                reply.fail(failure.failure());
            }
        }
        return Subscription.NONE;
    }

    /**
     * Gets the fleet's repository index, at most one second old.
     *
     * @param then called on the call's loop; never after the call was cancelled
     */
    public Subscription index(Call call, Reply reply, Consumer<RepositoryIndex> then) {
        Function<RepositoryIndex, Subscription> deliver = index -> {
            then.accept(index);
            return Subscription.NONE;
        };
        return new PendingClient<>(call, reply, deliver).begin(loop, indexes::fresh);
    }

    public List<Upstream> upstreams() {
        return upstreams;
    }

    /** The upstreams whose servers list their models. */
    public List<Upstream> repositories() {
        return upstreams.stream()
                .filter(upstream -> RepositoryUpstreams.indexed(upstream) || RepositoryUpstreams.listed(upstream))
                .toList();
    }

    /** Whether clients use other names for some models than their upstreams. */
    public boolean renames() {
        return indexes.renames();
    }

    /** Upstreams with model discovery, by the models they list. Immutable; replaced when it changes. */
    public Map<String, Upstream> discovered() {
        return indexes.discovered();
    }

    /** The models that are ready in the index of a server that gets their calls, by the name of its upstream. */
    public Map<String, Set<String>> readyByUpstream() {
        return indexes.index().models().stream()
                .flatMap(model -> model.replicas().stream()
                        .filter(replica -> replica.state() == ModelState.READY)
                        .map(replica -> Map.entry(
                                replica.source().upstream(), model.merged().name())))
                .collect(Collectors.groupingBy(
                        Map.Entry::getKey, Collectors.mapping(Map.Entry::getValue, Collectors.toSet())));
    }

    /** The names under which clients reach the models that servers list. */
    public Set<String> listed() {
        return indexes.names();
    }

    /**
     * Models of these upstreams were loaded or unloaded: polls them again.
     *
     * @return completes when results from before are no longer used
     */
    public CompletableFuture<Void> changed(Set<Upstream> upstreams) {
        try {
            return CompletableFuture.supplyAsync(() -> refresh(Set.copyOf(upstreams)), loop)
                    .thenCompose(refreshed -> refreshed);
        } catch (RejectedExecutionException closed) {
            LOG.debug("the catalogue is closed");
            return CompletableFuture.completedFuture(null);
        }
    }

    private CompletableFuture<Void> refresh(Set<Upstream> upstreams) {
        records.refresh();
        snapshots.take();
        models.outdated(upstreams);
        onDemand.forgetAll();
        return indexes.refresh(upstreams);
    }

    /** The servers of an upstream, as last checked. */
    public List<ReplicaStatus> members(Upstream upstream) {
        Map<Upstream, ReplicaStatus> seen = snapshots.now().members();
        return records.members(upstream).stream()
                .map(member -> seen.getOrDefault(member.server(), member))
                .toList();
    }

    /** All servers, as last checked. */
    public Collection<ReplicaStatus> members() {
        return snapshots.now().members().values();
    }

    /** For the admin listener: the index with the state on each server, and configured models that no server lists. */
    public ObjectNode indexDocument() {
        return withUnlisted(indexes.index()).detailed();
    }

    /** With the configured models that no server lists, as servers without an index do not. */
    private RepositoryIndex withUnlisted(RepositoryIndex index) {
        Set<String> listed =
                index.models().stream().map(each -> each.merged().name()).collect(Collectors.toSet());
        List<IndexedModel> models = new ArrayList<>(index.models());
        locations.configured().stream()
                .filter(location -> !listed.contains(location.requested().name()))
                .map(this::unlisted)
                .forEach(models::add);
        // The sort is stable, so versions of a model stay in their order.
        models.sort(Comparator.comparing(each -> each.merged().name()));
        return new RepositoryIndex(models, index.failures(), index.servers(), index.cut());
    }

    private IndexedModel unlisted(ModelLocation location) {
        Set<ReplicaState> replicas = new LinkedHashSet<>();
        for (Target target : location.targets()) {
            members(target.upstream()).forEach(server -> replicas.add(state(server, target.model())));
        }
        ReplicaState best =
                replicas.stream().max(Comparator.comparing(ReplicaState::state)).orElse(UNCHECKED);
        String name = location.requested().name();
        return new IndexedModel(new IndexEntry(name, "", best.state(), best.reason()), List.copyOf(replicas));
    }

    private static ReplicaState state(ReplicaStatus server, ModelRef model) {
        ServerId source = new ServerId(server.upstream(), server.label());
        Boolean ready = server.models().get(model);
        if (!server.ready()) {
            return new ReplicaState(source, ModelState.UNAVAILABLE, MetadataLimits.reason(server.reason()));
        }
        if (ready == null) {
            return new ReplicaState(source, ModelState.UNKNOWN, "not checked yet");
        }
        return ready
                ? new ReplicaState(source, ModelState.READY, "")
                : new ReplicaState(source, ModelState.UNAVAILABLE, "not ready");
    }

    /** What the servers declare of their models, for the validation of requests. */
    public ModelSignatures signatures() {
        return models.signatures();
    }

    /** For the admin listener: where servers disagree about models. */
    public ObjectNode driftDocument() {
        return models.drift().document();
    }

    /** Where servers disagree about one model. */
    public List<Drift> drift(String model) {
        return models.drift().of(model);
    }

    /** The differences between the servers of each model that has some, a line each. */
    public Map<String, List<String>> driftTexts() {
        return models.drift().texts();
    }

    /** Whether each configured model is ready; without models that were not checked on all servers. */
    public Map<String, Boolean> readyModels() {
        return snapshots.now().models();
    }

    /** The versions of some models in the index. */
    public Map<String, List<IndexEntry>> versions(Set<String> names) {
        return indexes.index().models().stream()
                .map(IndexedModel::merged)
                .filter(entry -> names.contains(entry.name()))
                .collect(Collectors.groupingBy(IndexEntry::name));
    }

    /**
     * For the admin listener: the servers, and whether they and the configured models on them are ready.
     *
     * @param readyModels whether models that are ready are listed, too
     */
    public ObjectNode membersDocument(boolean readyModels) {
        return snapshots.now().document(notReady(), readyModels);
    }

    /** Stops polling. */
    @Override
    public void close() {
        if (ticks != null) {
            ticks.cancel(false);
        }
    }

    /**
     * Requests a server's repository index; the reply receives one {@code ReplyMessage.Document}: an encoded
     * RepositoryIndexResponse.
     */
    @FunctionalInterface
    public interface IndexRequest {
        void send(Call call, Upstream server, Reply reply);
    }

    /**
     * A client waiting for a lookup on the catalogue's loop. Used on the call's loop; enforces the client's deadline.
     *
     * @param <T> the awaited result
     */
    static final class PendingClient<T> implements Subscription {
        private final Call call;
        private final Reply reply;
        private final Function<T, Subscription> then;
        private Subscription following = Subscription.NONE;
        private boolean ended;
        private @Nullable ScheduledFuture<?> timer;

        /** @param then receives the result on the call's loop, unless the client cancelled; returns what follows */
        PendingClient(Call call, Reply reply, Function<T, Subscription> then) {
            this.call = call;
            this.reply = reply;
            this.then = then;
        }

        /** @param lookup started on the catalogue's loop */
        PendingClient<T> begin(ScheduledExecutorService catalogue, Consumer<Consumer<T>> lookup) {
            if (call.hasDeadline()) {
                long remaining = call.deadlineNanos() - System.nanoTime();
                timer = catalogue.schedule(
                        () -> EventLoops.handOver(call.loop(), this::timedOut), remaining, TimeUnit.NANOSECONDS);
            }
            EventLoops.handOver(catalogue, () -> lookup.accept(this::found));
            return this;
        }

        /** Called on the catalogue's loop. */
        private void found(T found) {
            EventLoops.handOver(call.loop(), () -> deliver(found));
        }

        private void deliver(T found) {
            if (!ended) {
                cancel();
                following = then.apply(found);
            }
        }

        private void timedOut() {
            if (!ended) {
                cancel();
                reply.fail(
                        new OipException(ErrorCode.DEADLINE_EXCEEDED, "the model's servers did not respond in time"));
            }
        }

        /** The lookup continues: other clients may wait for it. */
        @Override
        public void cancel() {
            ended = true;
            if (timer != null) {
                timer.cancel(false);
            }
            following.cancel();
        }
    }
}

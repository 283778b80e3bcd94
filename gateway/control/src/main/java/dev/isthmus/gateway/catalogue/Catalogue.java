package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.fleet.OnDemandChecks;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the servers behind the gateway say of themselves, as that of one server. It is asked for in the background and told
 * from a snapshot, so that a client's question never becomes many; what nobody asked for before is looked up once for all who
 * want it. All questions are asked on one event loop; answers may be read on any thread.
 */
public final class Catalogue implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Catalogue.class);
    private static final long TICK_MILLIS = 250;
    private static final int UNDER_WAY = 4;

    private final List<Upstream> upstreams;
    private final ModelLocations places;
    private final EventLoop loop;
    private final ServerRecords watches;
    private final FleetSnapshots snapshots;
    private final ServerMetadataPolls servers;
    private final RepositoryIndexes indexes;
    private final ModelMetadataCache models;
    private final OnDemandChecks onDemand;
    private final ModelReadinessLookup readiness;
    private final CatalogueMeters meters;
    private final GatewayReadiness gateway;
    private final boolean readyBefore;
    private @Nullable ScheduledFuture<?> ticks;

    /**
     * What the catalogue tells by.
     *
     * @param self what the gateway says of itself
     * @param policy when it is ready
     * @param readyBefore what is said until every server was asked, unless it is known to be ready
     * @param discovering the upstreams whose models are all routed to them
     */
    public record Settings(
            ServerMetadata self, ServerReadyPolicy policy, boolean readyBefore, Set<Upstream> discovering) {

        public Settings {
            discovering = Set.copyOf(discovering);
        }
    }

    /**
     * What the catalogue runs on.
     *
     * @param loop an event loop
     * @param random spreads its questions; used on the loop
     * @param gateway without which nothing is called ready
     */
    public record CatalogueResources(
            EventLoop loop,
            ByteBufAllocator allocator,
            LongSupplier nanoTime,
            RandomGenerator random,
            MeterRegistry meters,
            GatewayReadiness gateway) {}

    /**
     * A catalogue that has asked nobody yet.
     *
     * @param upstreams in the order that decides where servers disagree
     */
    public Catalogue(
            List<Upstream> upstreams,
            ModelLocations places,
            Settings rules,
            CatalogueResources ground,
            IndexRequest index) {
        this.upstreams = List.copyOf(upstreams);
        this.places = places;
        this.loop = ground.loop();
        this.watches = new ServerRecords(upstreams, places);
        this.snapshots = new FleetSnapshots(rules, places, watches, loop);
        this.meters = new CatalogueMeters(ground.meters());
        this.gateway = ground.gateway();
        this.readyBefore = rules.readyBefore();
        LongSupplier time = ground.nanoTime();
        CatalogueRequests questions = new CatalogueRequests(loop, ground.allocator(), meters::failed, index);
        ConcurrencyLimiter lane = new ConcurrencyLimiter(UNDER_WAY);
        this.indexes =
                new RepositoryIndexes(watches, places, rules.discovering(), questions, lane, time, ground.random());
        ModelServers asked = new ModelServers(watches);
        this.models = new ModelMetadataCache(asked, places, questions, lane, new DriftLog(), time, ground.random());
        this.onDemand =
                new OnDemandChecks(loop, ground.allocator(), time, upstream -> meters.failed(upstream, "model_ready"));
        this.readiness = new ModelReadinessLookup(places, asked, onDemand);
        this.servers =
                new ServerMetadataPolls(watches, questions, time, ground.random(), this::returned, snapshots::changed);
        meters.register(places.configured(), this::readyGauge, models.drift()::count);
    }

    /** A server is ready at last, or again: it may say other things than before. */
    private void returned(ServerRecord watch) {
        indexes.returned(watch);
        models.hurry(Set.of(watch.upstream));
    }

    private double readyGauge(String model) {
        return Boolean.TRUE.equals(snapshots.now().models().get(model)) ? 1 : 0;
    }

    /** Begins to ask. */
    public void start() {
        ticks = loop.scheduleWithFixedDelay(this::tick, 0, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void tick() {
        try {
            if (watches.refresh()) {
                snapshots.changed();
            }
            servers.tick();
            indexes.tick();
            models.tick();
            indexes.publish();
        } catch (RuntimeException e) {
            // Otherwise the executor would ask never again, and say nothing.
            LOG.error("the catalogue could not ask its servers", e);
        }
    }

    /** Whether V2 clients are told that it is ready: the gateway itself, and by the policy its servers as they were last. */
    public boolean ready() {
        return notReady().isEmpty();
    }

    /** Why V2 clients are told that it is not ready; empty where it is. */
    public String notReady() {
        String obstacle = gateway.obstacle();
        if (obstacle != null) {
            return obstacle;
        }
        FleetSnapshot now = snapshots.now();
        return readyBefore && !now.settled() ? "" : now.server().reason();
    }

    /** Whether every server has been asked whether it is ready. */
    public boolean settled() {
        return snapshots.now().settled();
    }

    /** The gateway's metadata, with the extensions that hold for the fleet. */
    public ServerMetadata serverMetadata() {
        return snapshots.now().metadata();
    }

    /**
     * Tells whether a model is ready: the reply gets one {@code ReplyMessage.ModelReadyState}.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        ModelLocation place = places.of(model);
        if (place.configured() && model.version().isEmpty()) {
            Boolean ready = snapshots.now().models().get(model.name());
            if (ready != null) {
                return answered(reply, new ReplyMessage.ModelReadyState(model, ready));
            }
        }
        Consumer<Target> asItsClient = target -> target.upstream().modelReady(call, target.model(), reply);
        Consumer<LookupResult<Boolean>> tell = found ->
                tell(model, found, ready -> new ReplyMessage.ModelReadyState(model, ready), asItsClient, reply);
        return new PendingClient<>(call, reply, tell).begin(loop, then -> readiness.ready(model, then));
    }

    /**
     * Tells the metadata of a model: the reply gets one {@code ReplyMessage.Model}.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        // What was known of a model that routing knows no more is not told.
        places.of(model);
        Consumer<Target> asItsClient = target -> target.upstream().modelMetadata(call, target.model(), reply);
        Consumer<LookupResult<ModelMetadata>> tell =
                found -> tell(model, found, ReplyMessage.Model::new, asItsClient, reply);
        Optional<LookupResult<ModelMetadata>> known = models.metadata().known(model);
        if (known.isPresent()) {
            tell.accept(known.get());
            return Subscription.NONE;
        }
        return new PendingClient<>(call, reply, tell).begin(loop, then -> models.describe(model, then));
    }

    /** @param asItsClient asks the target with what the client says of itself */
    private <T> void tell(
            ModelRef model,
            LookupResult<T> found,
            Function<T, ReplyMessage> answer,
            Consumer<Target> asItsClient,
            Reply reply) {
        switch (found) {
            case LookupResult.Value<T> value -> reply.only(answer.apply(value.value()));
            case LookupResult.Failure<T> failure -> {
                if (forItsClient(failure.failure())) {
                    asItsClient.accept(places.of(model).targets().getFirst());
                } else {
                    reply.fail(failure.failure());
                }
            }
        }
    }

    /** The server wants to know who asks, which is the client's to say. */
    private static boolean forItsClient(OipException failure) {
        return failure.code() == ErrorCode.UNAUTHENTICATED || failure.code() == ErrorCode.PERMISSION_DENIED;
    }

    private static Subscription answered(Reply reply, ReplyMessage answer) {
        reply.only(answer);
        return Subscription.NONE;
    }

    /**
     * Gets the fleet's repository index, in which nothing is older than a second.
     *
     * @param then on the call's loop; never after the call was cancelled
     */
    public Subscription index(Call call, Reply reply, Consumer<RepositoryIndex> then) {
        return new PendingClient<>(call, reply, then).begin(loop, indexes::fresh);
    }

    /** Everything behind the gateway. */
    public List<Upstream> upstreams() {
        return upstreams;
    }

    /** The upstreams whose servers tell which models they have. */
    public List<Upstream> repositories() {
        return upstreams.stream()
                .filter(upstream -> RepositoryUpstreams.indexed(upstream) || RepositoryUpstreams.listed(upstream))
                .toList();
    }

    /** Whether the index has models under other names than those of their upstreams. */
    public boolean renames() {
        return indexes.renames();
    }

    /** Upstreams that discover their models, by the models that they list. Immutable, and swapped when it changes. */
    public Map<String, Upstream> discovered() {
        return indexes.discovered();
    }

    /** Whether a server lists a model of this name. */
    public boolean lists(String model) {
        return indexes.lists(model);
    }

    /** Models of these upstreams were loaded or unloaded: what is known of them is asked for anew. */
    public void changed(Set<Upstream> upstreams) {
        try {
            loop.execute(() -> refresh(Set.copyOf(upstreams)));
        } catch (RejectedExecutionException closed) {
            LOG.debug("the catalogue is closed");
        }
    }

    private void refresh(Set<Upstream> upstreams) {
        indexes.hurry(upstreams);
        models.hurry(upstreams);
        onDemand.forgetAll();
    }

    /** The servers of an upstream, as they were when they were last asked. */
    public List<ReplicaStatus> members(Upstream upstream) {
        Map<Upstream, ReplicaStatus> seen = snapshots.now().members();
        return watches.members(upstream).stream()
                .map(member -> seen.getOrDefault(member.server(), member))
                .toList();
    }

    /** For the admin side: the index with the state on each server. */
    public ObjectNode indexDocument() {
        return indexes.index().detailed();
    }

    /** For the admin side: where servers disagree about models. */
    public ObjectNode driftDocument() {
        return models.drift().document();
    }

    /** For the admin side: the servers, and whether they and the configured models on them are ready. */
    public ObjectNode membersDocument() {
        return snapshots.now().document(notReady());
    }

    /** Asks no more. */
    @Override
    public void close() {
        if (ticks != null) {
            ticks.cancel(false);
        }
        meters.close();
    }
}

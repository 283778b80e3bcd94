package dev.isthmus.gateway;

import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.dispatch.InferRules;
import dev.isthmus.gateway.dispatch.ProxyStack;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.fleet.ClusterResources;
import dev.isthmus.gateway.ingress.BodyLimits;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.management.FleetService;
import dev.isthmus.gateway.management.ManageCall;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.util.internal.PlatformDependent;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything made from one configuration. Its calls are counted: when the next generation has taken over and the last call
 * has ended, it is closed. Used by all event loops.
 */
final class Generation {
    private static final Logger LOG = LoggerFactory.getLogger(Generation.class);
    private static final List<String> EXTENSIONS = List.of("binary_tensor_data");
    /** What stands for models that no route takes. */
    private static final String OTHER = "other";

    private final long number;
    private final long madeNanos = System.nanoTime();
    private final GatewayConfig config;
    private final Upstreams upstreams;
    private final RoutingTable routes;
    private final Catalogue catalogue;
    private final RoutePolicyTable traffic;
    private volatile @Nullable RoutePolicyTable next;
    private final ListenerContext entry;
    private final SharedResources ground;
    /** The calls under way, and one more until this is retired. */
    private final AtomicInteger holders = new AtomicInteger(1);

    private volatile @Nullable ScheduledFuture<?> limit;

    /**
     * What all generations of a gateway share.
     *
     * @param closer closes generations; its threads may block
     * @param patience how long calls may go on after the next generation has taken over
     * @param gateway whether the gateway itself is ready
     * @param closed called when a generation has been closed
     */
    record SharedResources(
            EventLoopGroup loops,
            UpstreamPool pool,
            Upstreams.UpstreamResources upstreams,
            SelectionState choices,
            RoutePolicyTable.PolicyResources traffic,
            CallMetrics calls,
            ScheduledExecutorService closer,
            Duration patience,
            GatewayReadiness gateway,
            Runnable closed) {}

    /**
     * Makes everything, and asks nobody yet. May block.
     *
     * @param readyBefore what is said of readiness until the upstreams have answered
     * @param before of the generation before
     * @throws OipException when the local backend's repository cannot be read
     * @throws IllegalArgumentException when a name refers to nothing
     */
    Generation(
            long number,
            GatewayConfig config,
            SharedResources ground,
            boolean readyBefore,
            @Nullable RoutePolicyTable before) {
        this.number = number;
        this.config = config;
        this.ground = ground;
        this.upstreams = new Upstreams(config, ground.pool(), ground.upstreams());
        upstreams.awaitNames(config);
        try {
            CallMetrics calls = ground.calls();
            routes = routes();
            ModelLocations places =
                    new RoutedModelLocations(routes, config.health().modelReady());
            catalogue = catalogue(places, readyBefore);
            InferRules rules = rules(config);
            Transcoder transcoder = new Transcoder(rules.limits());
            traffic = new RoutePolicyTable(routes, config.limits().maxRequests(), transcoder, ground.traffic(), before);
            FleetService fleet = new FleetService(places, catalogue, rules.limits());
            Service stack = ProxyStack.of(
                    List.of(calls, ended -> leave()),
                    config.answers().errors() == GatewayConfig.ErrorTexts.GENERIC,
                    routes,
                    this::routeKey,
                    traffic,
                    fleet,
                    rules,
                    transcoder,
                    ground.gateway(),
                    System::nanoTime);
            IngressSettings settings =
                    settings(config, ground.upstreams().around().meters());
            this.entry = new ListenerContext(stack, () -> settings);
        } catch (RuntimeException e) {
            upstreams.close();
            throw e;
        }
    }

    private RoutingTable routes() {
        String fallback = config.defaultUpstream();
        return new RoutingTable(
                config.models(),
                upstreams::required,
                fallback == null ? null : upstreams.required(fallback),
                this::discovered,
                ground.choices());
    }

    private Map<String, Upstream> discovered() {
        return catalogue.discovered();
    }

    private Catalogue catalogue(ModelLocations places, boolean readyBefore) {
        Set<Upstream> discovering = config.upstreams().entrySet().stream()
                .filter(upstream -> upstream.getValue().discover())
                .map(upstream -> upstreams.required(upstream.getKey()))
                .collect(Collectors.toUnmodifiableSet());
        ClusterResources around = ground.upstreams().around();
        return new Catalogue(
                upstreams.all(),
                places,
                new Catalogue.Settings(
                        new ServerMetadata("isthmus", Version.current(), EXTENSIONS),
                        config.health().serverReady(),
                        readyBefore,
                        discovering),
                new Catalogue.CatalogueResources(
                        ground.loops().next(),
                        around.allocator(),
                        around.nanoTime(),
                        around.random(),
                        around.meters(),
                        ground.gateway()),
                ManageCall.INDEX);
    }

    private static InferRules rules(GatewayConfig config) {
        WireLimits limits = WireLimits.DEFAULT
                .withBodyBytes(config.limits().maxBodySize())
                .withTensors(config.limits().maxTensors());
        return new InferRules(limits, config.answers().nonFinite());
    }

    private static IngressSettings settings(GatewayConfig config, MeterRegistry meters) {
        GatewayConfig.ResponseConfig answers = config.answers();
        GatewayConfig.Limits limits = config.limits();
        return new IngressSettings(
                new BodyLimits(limits.maxBodySize(), limits.maxManagementSize(), limits.maxDecompressionRatio()),
                config.limits().maxConcurrentStreams(),
                config.headers().forwarded(),
                config.limits().maxHops(),
                answers.streamForm(),
                new IngressSettings.HealthResponses(
                        answers.healthBody() == GatewayConfig.HealthBody.JSON, answers.notReadyStatus()),
                answers.compress() ? answers.compressAbove() : -1,
                AbusePolicies.ofClients(config.limits().http2Abuse(), meters),
                ConnectionPolicies.of(config, meters));
    }

    private String routeKey(@Nullable Route route, ModelRef model) {
        if (route == null) {
            return OTHER;
        }
        String key = route.key();
        // Models of the configuration have a name already; those that are only found get theirs.
        boolean found = key.equals(RoutingTable.DEFAULT) || key.equals(RoutingTable.DISCOVERED);
        return found && catalogue.lists(model.name()) ? ground.calls().named(model.name(), key) : key;
    }

    /** The keys of all routes. */
    Set<String> routeKeys() {
        Set<String> keys = new HashSet<>(config.models().keySet());
        keys.addAll(List.of(RoutingTable.DEFAULT, RoutingTable.DISCOVERED, OTHER));
        return keys;
    }

    /** Begins to ask the upstreams. */
    void start() {
        double share = config.limits().maxBuffered();
        long direct = PlatformDependent.maxDirectMemory();
        long held = (long) (share * direct);
        ground.traffic().memory().limit(held, held + (direct - held) / 2);
        ground.upstreams().checked().configure(routes);
        traffic.install();
        catalogue.start();
    }

    /** Asks the upstreams no more. */
    void stop() {
        catalogue.close();
    }

    /** When it was made, on the scale of {@link System#nanoTime()}. */
    long madeNanos() {
        return madeNanos;
    }

    long number() {
        return number;
    }

    GatewayConfig config() {
        return config;
    }

    RoutePolicyTable traffic() {
        return traffic;
    }

    /** What is known of the servers. */
    Catalogue catalogue() {
        return catalogue;
    }

    /** Where calls go, each after an {@link #enter()}, and how ingress takes them. */
    ListenerContext entry() {
        return entry;
    }

    /** Whether the gateway is ready by its policy, as the servers were when they were last asked. */
    boolean ready() {
        return catalogue.ready();
    }

    /** A call is about to be handed over; false where this generation is over and another one has taken its place. */
    boolean enter() {
        int now = holders.get();
        while (now > 0) {
            if (holders.compareAndSet(now, now + 1)) {
                return true;
            }
            now = holders.get();
        }
        return false;
    }

    private void leave() {
        if (holders.decrementAndGet() == 0) {
            try {
                ground.closer().execute(this::close);
            } catch (RejectedExecutionException ended) {
                // The gateway is being closed, and everything with it.
                LOG.debug("generation {} ends with the gateway", number);
            }
        }
    }

    /** Another generation takes the calls from now on: this one is closed with its last call, or when patience is over. */
    void retire(@Nullable RoutePolicyTable successor) {
        next = successor;
        catalogue.close();
        limit = ground.closer().schedule(this::expire, ground.patience().toMillis(), TimeUnit.MILLISECONDS);
        leave();
    }

    private void expire() {
        LOG.warn("configuration {}: {} calls go on too long, and end where their upstream is gone", number, holders);
        close();
    }

    /** Gives the upstreams back; those that no other generation has are closed. May block, and be called more than once. */
    void close() {
        ScheduledFuture<?> scheduled = limit;
        if (scheduled != null) {
            scheduled.cancel(false);
        }
        catalogue.close();
        traffic.closeBut(next);
        upstreams.close();
        ground.closed().run();
    }
}

package dev.isthmus.gateway;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.dispatch.CallerAccess;
import dev.isthmus.gateway.dispatch.ProxyStack;
import dev.isthmus.gateway.dispatch.ProxyStack.AddedLayers;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.dispatch.ProxyStack.RouteKeys;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.ingress.ConnectionPolicies;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.management.FleetService;
import dev.isthmus.gateway.management.ManageCall;
import dev.isthmus.gateway.metrics.Http2AbuseMetrics;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.openapi.ApiDescriptions;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Transcoder;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.util.internal.PlatformDependent;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything created from one configuration. Counts its calls: it is closed when the next generation has taken over and
 * its last call has ended. Thread-safe.
 */
final class Generation {
    private static final Logger LOG = LoggerFactory.getLogger(Generation.class);
    private static final List<String> EXTENSIONS = List.of("binary_tensor_data");

    private final long number;
    private final long createdNanos = System.nanoTime();
    private final GatewayConfig config;
    private final Upstreams upstreams;
    private final RoutingTable routes;
    private final Catalogue catalogue;
    private final FleetService fleet;
    private final RoutePolicyTable traffic;
    private final @Nullable Authenticator authenticator;
    /** What goes on when this ends, and is not closed with it: the previous table until this starts, then the next. */
    private volatile @Nullable RoutePolicyTable other;

    private final ListenerContext entry;
    private final List<Layer> layers;
    private final AddedLayers added;
    private final SharedResources resources;
    /** Active calls, plus one until this is retired. */
    private final AtomicInteger holders = new AtomicInteger(1);

    private volatile @Nullable ScheduledFuture<?> drainTimer;

    /**
     * The resources that all generations of a gateway share.
     *
     * @param closer closes generations; its threads may block
     * @param drainTimeout how long calls may continue after the next generation has taken over
     * @param gateway the gateway's own readiness
     * @param connections limits of client connections
     * @param current the generation that is in effect
     * @param closed called when a generation was closed
     */
    record SharedResources(
            EventLoopGroup loops,
            Upstreams.UpstreamResources upstreams,
            SelectionState choices,
            RoutePolicyTable.PolicyResources traffic,
            GatewayTelemetry telemetry,
            ScheduledExecutorService closer,
            Duration drainTimeout,
            GatewayReadiness gateway,
            ConnectionPolicies connections,
            Supplier<Generation> current,
            Runnable closed) {}

    /**
     * Creates everything, without sending requests. May block.
     *
     * @param authenticator null if callers are not identified; not closed with the generation
     * @param previous counts where the servers were not asked yet; null for the first one
     * @throws OipException if the local backend's repository cannot be read
     * @throws IllegalArgumentException if a name refers to nothing
     */
    Generation(
            GatewayConfig config,
            SharedResources resources,
            @Nullable Authenticator authenticator,
            @Nullable Generation previous) {
        this.authenticator = authenticator;
        this.number = previous == null ? 1 : previous.number + 1;
        this.config = config;
        this.resources = resources;
        this.other = previous == null ? null : previous.traffic;
        MeterRegistry meters = resources.traffic().meters();
        this.upstreams = new Upstreams(config, resources.upstreams());
        this.added = new AddedLayers(config, resources.upstreams());
        upstreams.awaitResolution();
        RoutePolicyTable policies = null;
        try {
            routes = routes();
            ModelLocations locations =
                    new ModelLocations(routes, config.health().modelReady());
            catalogue = catalogue(locations, previous);
            InferRules rules = InferRules.of(config);
            CallerAccess access =
                    CallerAccess.of(config, authenticator, resources.telemetry().access());
            Transcoder transcoder = new Transcoder(rules.limits());
            policies = new RoutePolicyTable(
                    routes,
                    Admission.ConcurrencyLimits.of(config),
                    transcoder,
                    resources.traffic(),
                    previous == null ? null : previous.traffic);
            traffic = policies;
            catalogue.whenChanged(traffic::modelsChanged);
            fleet = new FleetService(
                    locations,
                    catalogue,
                    rules.limits(),
                    access.policy(),
                    new ApiDescriptions(config.authentication(), access.openListeners()));
            RouteKeys keys = RouteKeys.of(
                    resources.telemetry().calls(), name -> catalogue.listed().contains(name));
            ProxyStack proxy = new ProxyStack(config, access, routes, keys, traffic, catalogue.signatures(), meters);
            layers = added.among(each -> proxy.layer(each, this::recording));
            Service stack = ProxyStack.of(
                    layers, this::fleet, rules, transcoder, resources.gateway(), meters, System::nanoTime);
            IngressSettings settings =
                    IngressSettings.of(config, new Http2AbuseMetrics(meters).ofClients(), resources.connections());
            this.entry = new ListenerContext(stack, () -> settings);
        } catch (RuntimeException | Error e) {
            if (policies != null) {
                policies.closeBut(other);
            }
            added.close();
            upstreams.close();
            throw e;
        }
    }

    /** Waits until the local models of the start are loaded or have failed. Blocks. */
    void awaitLocalModels() {
        Set<Upstream> local = upstreams.awaitLocalModels(resources.gateway()::ending);
        if (!local.isEmpty()) {
            catalogue.changed(local).join();
        }
    }

    /** The first generation of a gateway. As the constructor, but creates what identifies callers. */
    static Generation first(GatewayConfig config, SharedResources resources) throws ConfigException {
        Authenticator authenticator = Authenticator.renewed(
                null, config.authentication(), resources.telemetry().access());
        try {
            return new Generation(config, resources, authenticator, null);
        } catch (RuntimeException | Error e) {
            Authenticator.closeUnless(null, authenticator);
            throw e;
        }
    }

    private RoutingTable routes() {
        String fallback = config.defaultUpstream();
        return new RoutingTable(
                config.models(),
                upstreams::required,
                fallback == null ? null : upstreams.required(fallback),
                () -> catalogue.discovered(),
                resources.choices());
    }

    private Layer recording(BuiltInLayer layer) {
        return layer == BuiltInLayer.GENERATION
                ? new HeldGeneration(this::leave)
                : resources.telemetry().layer(layer);
    }

    private Catalogue catalogue(ModelLocations locations, @Nullable Generation previous) {
        Set<Upstream> discovering = config.upstreams().entrySet().stream()
                .filter(upstream -> upstream.getValue().discover())
                .map(upstream -> upstreams.required(upstream.getKey()))
                .collect(Collectors.toUnmodifiableSet());
        return new Catalogue(
                upstreams.all(),
                locations,
                new Catalogue.Settings(
                        new ServerMetadata("isthmus", Version.current(), EXTENSIONS),
                        config.health().serverReady(),
                        discovering),
                new Catalogue.CatalogueResources(
                        resources.loops().next(), resources.upstreams().clusterResources(), resources.gateway()),
                ManageCall.INDEX,
                previous == null ? null : previous.catalogue);
    }

    /** The local models that are not loaded because they ran when their process crashed. */
    Set<String> excludedModels() {
        return upstreams.excludedModels();
    }

    Set<String> routeKeys() {
        Set<String> keys = new HashSet<>(config.models().keySet());
        keys.addAll(List.of(RoutingTable.DEFAULT, RoutingTable.DISCOVERED, RouteKeys.OTHER));
        return keys;
    }

    void start() {
        // First, as it may block: after the next steps, calls of the previous configuration meet what is shared.
        resources.telemetry().configure(config);
        long direct = PlatformDependent.maxDirectMemory();
        long held = (long) (config.limits().maxBuffered() * direct);
        resources.traffic().memory().limit(held, held + (direct - held) / 2);
        resources.upstreams().checked().configure(routes);
        upstreams.install();
        resources
                .upstreams()
                .clusterResources()
                .modelChecks()
                .perSecond(config.health().maxModelChecks());
        traffic.install();
        other = null;
        catalogue.start();
    }

    /** When it was created, on the scale of {@link System#nanoTime()}. */
    long createdNanos() {
        return createdNanos;
    }

    /** What calls pass, the outermost first. */
    List<Layer> layers() {
        return layers;
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

    RoutingTable routing() {
        return routes;
    }

    Catalogue catalogue() {
        return catalogue;
    }

    /** A call of the gateway itself is that of a watch, which may outlast this. */
    private RequestSink fleet(Call call, Reply reply) {
        Generation asked =
                call.context().protocol() == null ? resources.current().get() : this;
        return asked.fleet.open(call, reply);
    }

    /** How callers are identified; null if they are not. */
    @Nullable
    Authenticator authenticator() {
        return authenticator;
    }

    /** The service for calls, each after an {@link #enter()}, and the ingress settings. */
    ListenerContext entry() {
        return entry;
    }

    /** Registers a call that is about to start; false if this generation has ended and another one has replaced it. */
    boolean enter() {
        return holders.getAndUpdate(now -> now > 0 ? now + 1 : now) > 0;
    }

    private void leave() {
        if (holders.decrementAndGet() == 0) {
            // A gateway that is shutting down closes everything.
            EventLoops.handOver(resources.closer(), this::close);
        }
    }

    /** The next generation takes over: this one is closed after its last call, or after the drain timeout. */
    void retire(@Nullable RoutePolicyTable successor) {
        other = successor;
        catalogue.close();
        drainTimer = resources
                .closer()
                .schedule(this::expire, resources.drainTimeout().toMillis(), TimeUnit.MILLISECONDS);
        leave();
    }

    private void expire() {
        LOG.warn(
                "configuration {}: {} calls exceed the five minutes after its replacement, and fail if their upstream was"
                        + " removed",
                number,
                holders);
        close();
    }

    /** Releases the upstreams; those that no other generation uses are closed. May block. Idempotent. */
    void close() {
        ScheduledFuture<?> scheduled = drainTimer;
        if (scheduled != null) {
            scheduled.cancel(false);
        }
        catalogue.close();
        traffic.closeBut(other);
        added.close();
        upstreams.close();
        resources.closed().run();
    }

    /**
     * The layer that keeps a generation until its last call has ended.
     *
     * @param leave a call has ended
     */
    record HeldGeneration(Runnable leave) implements Layer {
        @Override
        public String name() {
            return "generation";
        }

        @Override
        public void ended(Exchange exchange) {
            leave.run();
        }
    }
}

package dev.isthmus.gateway;

import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.AdminServer;
import dev.isthmus.gateway.audit.AuditLog.AuditActor;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.GatewayState;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.diagnosis.DebugPages;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceDiscovery;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.ingress.ConnectionPolicies;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.ingress.Listeners;
import dev.isthmus.gateway.memory.AllocationProbe;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.ConnectionMetrics;
import dev.isthmus.gateway.metrics.EventLoopMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.net.DrainSequence;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.redis.FleetSharing;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A gateway, running from its construction to {@link #close()}: everything that outlives a configuration, and the
 * {@link Generation} of the current one.
 */
public final class Gateway implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);
    private static final Duration DRAIN_TIMEOUT = Duration.ofMinutes(5);

    private final EventLoopGroup loops;
    private final GatewayState state;
    private final ProcessMetrics metrics = new ProcessMetrics(Version.current(), Version.commit());
    private final ReloadReporter reloads = new ReloadReporter(metrics.registry());
    private final TlsRegistry tls = new TlsRegistry(metrics.registry());
    private final FleetSharing sharing;
    private final ShadowRuntime shadows;
    private final Generation.SharedResources resources;
    private final Listeners listeners;
    private final DrainSequence drain;
    private final AdminRoutes adminRoutes = new AdminRoutes();
    private final AdminPages pages;
    private final @Nullable ConfigSource source;
    private final InferenceServiceDiscovery discovery;
    /** Held while a generation takes over, which is the short part of a reload. */
    private final Object takeOver = new Object();

    private volatile Generation current;

    /**
     * Starts a gateway; its ports are bound when this returns, and its local models are loaded or have failed.
     *
     * @throws Exception if a port cannot be bound, or the local backend's repository be read; nothing is left running then
     */
    public static Gateway start(GatewayConfig config) throws Exception {
        return start(config, BufferAllocators.shared());
    }

    /** As {@link #start(GatewayConfig)}, with this allocator for the buffers of all connections. */
    public static Gateway start(GatewayConfig config, ByteBufAllocator allocator) throws Exception {
        return start(config, null, allocator, () -> true).awaitLocalModels();
    }

    /**
     * Starts a gateway with the source's configuration, which is loaded again by each {@link #reload()}. Its ports are
     * bound when this returns; local models load in the background.
     *
     * @throws ConfigException if the source has no valid configuration
     */
    public static Gateway start(ConfigSource source) throws Exception {
        return start(source, () -> true);
    }

    /**
     * As {@link #start(ConfigSource)}.
     *
     * @param warm whether the gateway may report itself ready; called for each readiness request
     */
    public static Gateway start(ConfigSource source, BooleanSupplier warm) throws Exception {
        return start(source.load(), source, BufferAllocators.shared(), warm);
    }

    private static Gateway start(
            GatewayConfig config, @Nullable ConfigSource source, ByteBufAllocator allocator, BooleanSupplier warm)
            throws Exception {
        Listeners.check(config.listeners());
        AdminServer.check(config.admin());
        Transport transport = Transport.best();
        EventLoopGroup loops = EventLoops.start(transport);
        Gateway gateway;
        try {
            gateway = new Gateway(config, source, transport, loops, allocator, warm);
        } catch (RuntimeException | Error | ConfigException e) {
            EventLoops.stop(loops);
            throw e;
        }
        try {
            gateway.open(config, transport);
            return gateway;
        } catch (Exception | Error e) {
            gateway.close();
            throw e;
        }
    }

    private Gateway(
            GatewayConfig config,
            @Nullable ConfigSource source,
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            BooleanSupplier warm)
            throws ConfigException {
        this.source = source;
        this.loops = loops;
        state = new GatewayState(new AllocationProbe(allocator), warm);
        BufferAllocators.trim(allocator, loops);
        MeterRegistry meters = metrics.registry();
        GatewayTelemetry telemetry = new GatewayTelemetry(metrics);
        telemetry.configure(config.logging());
        OpenConnections connections = new OpenConnections();
        ScheduledExecutorService closer =
                Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("isthmus-closer", true));
        MemoryBudget memory = new MemoryBudget(0, () -> BufferAllocators.pinned(allocator), meters);
        sharing = new FleetSharing(config, meters, closer);
        var servers = Upstreams.UpstreamResources.real(
                loops.next(), allocator, meters, tls, connections.table(), state::isStopping);
        sharing.share(servers.clusterResources().drained());
        shadows = new ShadowRuntime(
                meters, servers.clusterResources().random(), System::nanoTime, ramps()::differed, ShadowLimits.DEFAULT);
        resources = new Generation.SharedResources(
                loops,
                servers,
                SelectionState.of(System::nanoTime),
                new RoutePolicyTable.PolicyResources(
                        meters, System::nanoTime, shadows, ramps(), memory, sharing.counters()),
                telemetry,
                closer,
                DRAIN_TIMEOUT,
                state,
                new ConnectionPolicies(new ConnectionMetrics(meters)),
                this::current,
                this::forget);
        drain = new DrainSequence(connections.drain(), telemetry.calls()::inFlight, this::stopAccepting);
        new ConnectionMetrics(meters).show(connections);
        EventLoopMetrics.register(loops, meters);
        ListenerContext entry = new ListenerContext(
                new CurrentStack(this::current),
                () -> current().entry().settings().get(),
                connections,
                memory);
        listeners = new Listeners(transport, loops, allocator, entry, tls, meters);
        pages = new AdminPages(this, metrics, resources, reloads, source);
        pages.addTo(adminRoutes, new DebugPages(allocator, memory, connections.table(), telemetry.errors()));
        discovery = new InferenceServiceDiscovery(
                closer, this::rediscovered, () -> current().catalogue().readyByUpstream());
        try {
            current = Generation.first(discovery.merged(config), resources);
        } catch (RuntimeException | Error | ConfigException e) {
            discovery.close();
            throw e;
        }
        discovery.inEffect(config);
        state.show(meters, this::ready);
    }

    /** With the lock of reloads: the admin address, which is opened first, may be asked for one. */
    private synchronized void open(GatewayConfig config, Transport transport) throws Exception {
        pages.open(config.admin(), transport, tls, adminRoutes);
        Listeners.Change change = listeners.prepare(config.listeners());
        current.start();
        tls.watch(resources.closer());
        change.commit();
        state.serving();
        discovery.start();
    }

    Generation current() {
        return current;
    }

    InferenceServiceDiscovery discovery() {
        return discovery;
    }

    /** Waits until the local models of the start are loaded or have failed. Blocks. */
    public Gateway awaitLocalModels() {
        current.awaitLocalModels();
        return this;
    }

    public GatewayConfig config() {
        return current.config();
    }

    /** Loads the configuration again and applies it; the result is also logged and counted. Blocks. */
    public synchronized ReloadResult reload() {
        tls.checkNow();
        if (source == null) {
            return reloads.rejected(false, List.of("the gateway was started without a configuration file"));
        }
        try {
            return reload(source.load());
        } catch (ConfigException e) {
            return reloads.rejected(e);
        }
    }

    /**
     * Applies another configuration. It holds for new calls at once; calls in flight end under their own configuration.
     * If it cannot be applied, nothing changes. Blocks.
     */
    public synchronized ReloadResult reload(GatewayConfig config) {
        if (state.ending()) {
            return reloads.rejected(false, List.of("the gateway is shutting down"));
        }
        Generation old = current;
        GatewayConfig written = config.withFixed(old.config());
        GatewayConfig wanted = discovery.merged(written);
        var warnings = restartWarnings(config, written);
        try {
            if (!wanted.equals(old.config())) {
                replace(old, wanted);
                warnings.addAll(ramps().interruptions());
            }
            discovery.inEffect(written);
        } catch (Exception e) {
            discovery.inEffect(discovery.written());
            return reloads.rejected(e);
        }
        var changes = ConfigDiff.of(old.config(), wanted).changes();
        return reloads.applied(current.number(), changes, warnings);
    }

    /** What is discovered has changed. */
    private synchronized void rediscovered() {
        GatewayConfig written = discovery.written();
        if (!state.ending() && !discovery.merged(written).equals(current.config())) {
            reload(written);
        }
    }

    private void replace(Generation old, GatewayConfig config) throws Exception {
        Listeners.check(listeners.unbound(config.listeners()));
        Authenticator identity = Authenticator.renewed(
                old.authenticator(),
                config.authentication(),
                resources.telemetry().access());
        Generation next = null;
        Listeners.Change change;
        try {
            next = new Generation(config, resources, identity, old);
            // The previous configuration serves meanwhile.
            next.awaitLocalModels();
            change = listeners.prepare(config.listeners());
        } catch (Exception | Error e) {
            if (next != null) {
                next.close();
            }
            Authenticator.closeUnless(old.authenticator(), identity);
            throw e;
        }
        synchronized (takeOver) {
            next.start();
            current = next;
        }
        change.commit();
        Authenticator.closeUnless(identity, old.authenticator());
        old.retire(next.traffic());
    }

    /** A generation was closed: removes the meters of its routes. */
    private void forget() {
        synchronized (takeOver) {
            resources.telemetry().calls().retain(current.routeKeys());
        }
    }

    /**
     * As {@link #reload()}, of the process itself, with an entry in the audit log.
     *
     * @param cause such as "SIGHUP"
     */
    public void reload(String cause) {
        long before = current.number();
        resources.telemetry().audit().record(AuditActor.process(cause), ReloadReporter.audited(before, reload()));
    }

    /** The routes of the admin listener; routes may be added. */
    public AdminRoutes adminRoutes() {
        return adminRoutes;
    }

    /** The listeners' addresses, with their actual ports. */
    public List<InetSocketAddress> addresses() {
        return listeners.addresses();
    }

    /** The admin listener's address, with its actual port. */
    public Optional<InetSocketAddress> adminAddress() {
        return pages.address();
    }

    public ShadowRuntime shadows() {
        return shadows;
    }

    public Ramps ramps() {
        return sharing.ramps();
    }

    public MeterRegistry meters() {
        return metrics.registry();
    }

    public Catalogue catalogue() {
        return current.catalogue();
    }

    /** Whether the gateway itself accepts traffic, regardless of its upstreams. */
    public GatewayReadiness state() {
        return state;
    }

    /** Whether the gateway is ready by its policy, given the last health checks. */
    public boolean ready() {
        return current.catalogue().ready();
    }

    /** Whether it serves a call, or stops. */
    public boolean isServing() {
        return resources.telemetry().calls().inFlight() > 0 || state.isStopping();
    }

    /** How many calls have ended since the start. */
    public long endedCalls() {
        return resources.telemetry().calls().ended();
    }

    private synchronized void stopAccepting() {
        listeners.close();
    }

    /**
     * Ends without losing a call: reports itself not ready and serves for the configured delay, then accepts no
     * connections and closes when calls have ended, or at the configured timeout. Blocks; {@link #close()} shortens it.
     *
     * @param why logged reason
     * @param delayed whether to wait for the configured delay
     */
    public void drain(String why, boolean delayed) throws InterruptedException {
        if (!state.draining()) {
            return;
        }
        var times = config().drain();
        drain.run(why, delayed ? times.delay() : Duration.ZERO, times.timeout());
        stop(why);
    }

    /** Stops accepting, fails active calls and closes everything. Idempotent. */
    @Override
    public void close() {
        stop("closed");
    }

    /** As {@link #close()}; the reason is logged. */
    public synchronized void stop(String why) {
        if (loops.isShuttingDown()) {
            return;
        }
        state.stopping();
        long active = resources.telemetry().calls().inFlight();
        LOG.info("stopping: {}; active calls: {}", why, active);
        listeners.close();
        drain.end();
        pages.close();
        sharing.close();
        discovery.close();
        resources.closer().shutdownNow();
        current.catalogue().close();
        resources.upstreams().pool().close();
        EventLoops.drain(loops);
        EventLoops.stop(loops);
        current.traffic().close();
        Authenticator.closeUnless(null, current.authenticator());
        shadows.close();
        metrics.close();
        LOG.info("stopped");
        resources.telemetry().close();
    }

    /** A warning for each section that differs and takes effect only after a restart. A new list. */
    private static List<String> restartWarnings(GatewayConfig config, GatewayConfig inEffect) {
        List<String> changed = new ArrayList<>();
        if (!Objects.equals(inEffect.admin(), config.admin())) {
            changed.add("admin");
        }
        if (!inEffect.ramps().equals(config.ramps())) {
            changed.add("ramps");
        }
        if (!Objects.equals(inEffect.shared(), config.shared())) {
            changed.add("shared");
        }
        changed.replaceAll(section -> section + ": the change takes effect after a restart");
        return changed;
    }
}

package dev.isthmus.gateway;

import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.AdminServer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.memory.AllocationProbe;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ConnectionMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.metrics.ReloadMetrics;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.RampStateStore;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Admin;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gateway, running from its construction to {@link #close()}: what outlives every configuration, and the
 * {@link Generation} of the current one.
 */
public final class Gateway implements AutoCloseable, GatewayReadiness {
    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);
    private static final long QUIET_MILLIS = 0;
    private static final long PATIENCE_MILLIS = 5_000;
    /** Connections are closed, their handlers hear of it, answers are written, and flushed. */
    private static final int TURNS = 4;

    private static final int MOST_CHANGES = 100;
    private static final Duration CALLS_GO_ON = Duration.ofMinutes(5);
    private static final String STOPPING = "stopping";

    private final EventLoopGroup loops;
    private final AllocationProbe allocations;
    private final ProcessMetrics metrics = new ProcessMetrics(Version.current(), Version.commit());
    private final ReloadMetrics reloads = new ReloadMetrics(metrics.registry());
    private final Ramps ramps;
    private final ShadowRuntime shadows;
    private final Generation.SharedResources ground;
    private final Listeners listeners;
    private final AdminRoutes adminRoutes = new AdminRoutes();
    private final @Nullable ConfigSource source;
    private @Nullable AdminServer admin;
    private final BooleanSupplier warm;
    /** What is done instead of serving; null while it serves. */
    private volatile @Nullable String phase = "starting";

    private volatile Generation current;

    /**
     * Starts a gateway; its ports are bound when this returns.
     *
     * @throws OipException when the local backend's repository cannot be read
     * @throws Exception when a port cannot be bound; nothing is left running then
     */
    public static Gateway start(GatewayConfig config) throws Exception {
        return start(config, BufferAllocators.shared());
    }

    /**
     * As {@link #start(GatewayConfig)}.
     *
     * @param allocator of all connections' buffers
     */
    public static Gateway start(GatewayConfig config, ByteBufAllocator allocator) throws Exception {
        return start(config, null, allocator, () -> true);
    }

    /**
     * As {@link #start(GatewayConfig)}, with what the source says now and at each {@link #reload()}.
     *
     * @throws ConfigException when the source says nothing usable
     */
    public static Gateway start(ConfigSource source) throws Exception {
        return start(source, () -> true);
    }

    /**
     * As {@link #start(ConfigSource)}.
     *
     * @param warm whether it may be called ready yet; asked each time
     */
    public static Gateway start(ConfigSource source, BooleanSupplier warm) throws Exception {
        return start(source.load(), source, BufferAllocators.shared(), warm);
    }

    private static Gateway start(
            GatewayConfig config, @Nullable ConfigSource source, ByteBufAllocator allocator, BooleanSupplier warm)
            throws Exception {
        // Before models are loaded, which takes long.
        checkAddresses(config);
        Transport transport = Transport.best();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(
                0, new DefaultThreadFactory("isthmus-loop"), transport.ioHandlerFactory());
        Gateway gateway;
        try {
            gateway = new Gateway(config, source, transport, loops, allocator, warm);
        } catch (RuntimeException e) {
            end(loops);
            throw e;
        }
        try {
            gateway.open(config, transport);
            return gateway;
        } catch (Exception e) {
            gateway.close();
            throw e;
        }
    }

    private static void checkAddresses(GatewayConfig config) throws BindException {
        Listeners.check(config.listeners());
        Admin operators = config.admin();
        if (operators != null) {
            AdminServer.check(operators);
        }
    }

    private Gateway(
            GatewayConfig config,
            @Nullable ConfigSource source,
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            BooleanSupplier warm) {
        this.source = source;
        this.warm = warm;
        this.loops = loops;
        allocations = new AllocationProbe(allocator);
        BufferAllocators.trim(allocator, loops);
        CallMetrics calls = new CallMetrics(metrics.registry());
        ScheduledExecutorService closer =
                Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("isthmus-closer", true));
        MemoryBudget memory = new MemoryBudget(0, () -> BufferAllocators.pinned(allocator), metrics.registry());
        ramps = new Ramps(metrics.registry(), System::nanoTime, InstantSource.system(), closer, store(config.ramps()));
        shadows = new ShadowRuntime(
                metrics.registry(),
                () -> ThreadLocalRandom.current().nextLong(),
                System::nanoTime,
                ramps::differed,
                ShadowLimits.DEFAULT);
        ground = new Generation.SharedResources(
                loops,
                new UpstreamPool(),
                Upstreams.UpstreamResources.real(
                        loops.next(), allocator, metrics.registry(), () -> STOPPING.equals(phase)),
                SelectionState.of(System::nanoTime),
                new RoutePolicyTable.PolicyResources(metrics.registry(), System::nanoTime, shadows, ramps, memory),
                calls,
                closer,
                CALLS_GO_ON,
                this,
                this::forget);
        OpenConnections connections = new OpenConnections();
        new ConnectionMetrics(metrics.registry()).show(connections);
        listeners = new Listeners(
                transport,
                loops,
                allocator,
                new ListenerContext(
                        new CurrentStack(), () -> current().entry().settings().get(), connections, memory));
        new AdminPages(this, metrics).addTo(adminRoutes);
        current = new Generation(1, config, ground, false, null);
    }

    private static RampStateStore store(GatewayConfig.RampsConfig config) {
        Path file = config.stateFile();
        return file == null ? RampStateStore.NONE : new RampStateFile(file);
    }

    private void open(GatewayConfig config, Transport transport) throws Exception {
        Admin operators = config.admin();
        if (operators != null) {
            admin = AdminServer.listen(transport, loops, operators, adminRoutes);
        }
        listeners.prepare(config.listeners()).commit();
        current.start();
        phase = null;
    }

    /** The generation that a call is handed to; it stays until the call has ended. */
    private Generation enter() {
        Generation now = current;
        while (!now.enter()) {
            // It was retired since it was read: there is another one.
            now = current;
        }
        return now;
    }

    /** The stack of the generation that is current when a call begins. */
    private final class CurrentStack implements Service {
        @Override
        public RequestSink open(Call call, Reply reply) {
            return enter().entry().calls().open(call, reply);
        }

        @Override
        public void reject(CallContext call, OipException refusal, Reply reply) {
            enter().entry().calls().reject(call, refusal, reply);
        }
    }

    Generation current() {
        return current;
    }

    /** The configuration that is served. */
    public GatewayConfig config() {
        return current.config();
    }

    /** Has the configuration read again and served; its outcome is also logged and counted. Blocks. */
    public synchronized ReloadResult reload() {
        if (source == null) {
            return rejected(
                    new ReloadResult.Rejected(false, List.of("the gateway was started without a configuration file")));
        }
        try {
            return reload(source.load());
        } catch (ConfigException e) {
            return rejected(new ReloadResult.Rejected(true, e.problems()));
        }
    }

    /**
     * Serves another configuration. New calls get it at once; those under way end under the one that they began with. Where
     * it cannot be put into effect, nothing changes. Blocks.
     */
    public synchronized ReloadResult reload(GatewayConfig config) {
        if (loops.isShuttingDown()) {
            return rejected(new ReloadResult.Rejected(false, List.of("the gateway is being stopped")));
        }
        Generation old = current;
        GatewayConfig wanted =
                config.withAdmin(old.config().admin()).withRamps(old.config().ramps());
        List<String> warnings = new ArrayList<>();
        if (!Objects.equals(wanted.admin(), config.admin())) {
            warnings.add("admin: the change takes effect when the gateway is started anew");
        }
        if (!wanted.ramps().equals(config.ramps())) {
            warnings.add("ramps: the change takes effect when the gateway is started anew");
        }
        List<String> changes = ConfigDiff.of(old.config(), wanted).changes();
        if (!wanted.equals(old.config())) {
            try {
                replace(old, wanted);
            } catch (OipException e) {
                return rejected(new ReloadResult.Rejected(false, List.of(e.message())));
            } catch (Exception e) {
                return rejected(new ReloadResult.Rejected(
                        false, List.of(Objects.requireNonNullElse(e.getMessage(), e.toString()))));
            }
        }
        return applied(new ReloadResult.Applied(current.number(), first(changes), warnings));
    }

    private static List<String> first(List<String> changes) {
        if (changes.size() <= MOST_CHANGES) {
            return changes;
        }
        List<String> shown = new ArrayList<>(changes.subList(0, MOST_CHANGES));
        shown.add("and " + (changes.size() - MOST_CHANGES) + " more");
        return shown;
    }

    private void replace(Generation old, GatewayConfig config) throws Exception {
        Listeners.check(listeners.unbound(config.listeners()));
        Generation next = new Generation(old.number() + 1, config, ground, old.ready(), old.traffic());
        Listeners.Change change;
        try {
            change = listeners.prepare(config.listeners());
        } catch (Exception e) {
            next.close();
            throw e;
        }
        next.start();
        current = next;
        change.commit();
        old.retire(next.traffic());
    }

    private ReloadResult applied(ReloadResult.Applied applied) {
        applied.warnings().forEach(LOG::warn);
        LOG.info("configuration {} is served; changes: {}", applied.generation(), applied.changes());
        reloads.applied(applied.generation());
        return applied;
    }

    private ReloadResult rejected(ReloadResult.Rejected rejected) {
        LOG.error(
                "the new configuration is refused, the one before is still served:\n{}",
                String.join("\n", rejected.problems()));
        reloads.rejected();
        return rejected;
    }

    /** A generation has been closed: the meters of its routes go with it. */
    private synchronized void forget() {
        ground.calls().retain(current.routeKeys());
    }

    /** What operators are answered; more may be added. */
    public AdminRoutes adminRoutes() {
        return adminRoutes;
    }

    /** The addresses that are listened on, with the ports that were chosen. */
    public List<InetSocketAddress> addresses() {
        return listeners.addresses();
    }

    /** The address of the operators' side, with the port that was chosen. */
    public Optional<InetSocketAddress> adminAddress() {
        return Optional.ofNullable(admin).map(AdminServer::address);
    }

    /** What is copied. */
    public ShadowRuntime shadows() {
        return shadows;
    }

    /** What is raised step by step. */
    public Ramps ramps() {
        return ramps;
    }

    /** What is measured. */
    public MeterRegistry meters() {
        return metrics.registry();
    }

    /** What is known of the servers behind it. */
    public Catalogue catalogue() {
        return current.catalogue();
    }

    /** Why the gateway itself takes no traffic now, however its upstreams are; null where it does. */
    @Override
    public @Nullable String obstacle() {
        String instead = phase;
        return instead != null || warm.getAsBoolean() ? instead : "warming up";
    }

    @Override
    public @Nullable String failure() {
        return allocations.failure();
    }

    /** Whether the gateway is ready by its policy, as the servers were when they were last asked. */
    public boolean ready() {
        return current.ready();
    }

    /** Stops accepting and ends everything; once is enough. */
    @Override
    public void close() {
        stop("it is closed");
    }

    /**
     * As {@link #close()}.
     *
     * @param why for the log
     */
    public synchronized void stop(String why) {
        if (loops.isShuttingDown()) {
            return;
        }
        phase = STOPPING;
        LOG.info("stopping: {}; calls under way: {}", why, ground.calls().inFlight());
        listeners.close();
        if (admin != null) {
            admin.close();
        }
        ramps.close();
        ground.closer().shutdownNow();
        current.stop();
        ground.pool().close();
        settle(loops);
        end(loops);
        current.traffic().close();
        shadows.close();
        metrics.close();
        LOG.info("stopped");
    }

    /** Lets each loop do what it was given, and what follows: calls that end with their upstream are still answered. */
    private static void settle(EventLoopGroup loops) {
        for (int turn = 0; turn < TURNS; turn++) {
            for (EventExecutor loop : loops) {
                loop.submit(() -> {}).awaitUninterruptibly(PATIENCE_MILLIS);
            }
        }
    }

    private static void end(EventLoopGroup loops) {
        loops.shutdownGracefully(QUIET_MILLIS, PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                .syncUninterruptibly();
    }
}

package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.accesslog.ReloadableAccessLog;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.GatewayState;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.dispatch.CallerAccess;
import dev.isthmus.gateway.dispatch.ProxyStack;
import dev.isthmus.gateway.dispatch.ProxyStack.AddedLayers;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.dispatch.ProxyStack.RouteKeys;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.DrainedServers;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.ingress.ConnectionPolicies;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.ingress.Listeners;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.memory.AllocationProbe;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ConnectionMetrics;
import dev.isthmus.gateway.metrics.EventLoopMetrics;
import dev.isthmus.gateway.metrics.Http2AbuseMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.net.ConnectionDrain;
import dev.isthmus.gateway.net.DrainSequence;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.payloadlog.ReloadablePayloadLog;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.redis.FleetSharing;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Drain;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.gateway.settings.ResponseConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.tracing.ReloadableTracing;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.util.internal.PlatformDependent;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of a gateway: real listeners, the stack of layers, and upstreams, from a configuration. A control plane
 * is what a test makes of it.
 */
public final class ProxyServer implements AutoCloseable {
    private final ProcessMetrics metrics = new ProcessMetrics("0", "0");
    private final MeterRegistry meters = metrics.registry();
    private final TlsRegistry tls = new TlsRegistry(meters);
    private final ReloadableTracing tracing = new ReloadableTracing(meters, "0");
    private final CallMetrics calls = new CallMetrics(meters);
    private final AccessMetrics access = new AccessMetrics(meters);
    private final ReloadableAccessLog accessLog = new ReloadableAccessLog(meters);
    private final ReloadablePayloadLog payloads = new ReloadablePayloadLog(meters);
    private final Reloadable<OtlpConfig, ?> exports = metrics.exports();
    private final OpenConnections connections = new OpenConnections();
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
    private final ConnectionPolicies connectionPolicies;
    private final EventLoopGroup loops;
    private final Upstreams.UpstreamResources upstreams;
    private final ShadowRuntime shadows;
    private final FleetSharing sharing;
    private final MemoryBudget memory;
    private final GatewayState state;
    private final DrainSequence drain;
    private final Listeners listeners;
    private final ControlPlane.Factory control;
    private volatile Configured current;

    /** What is made from one configuration. */
    private record Configured(
            GatewayConfig config,
            Upstreams upstreams,
            RoutingTable routes,
            RoutePolicyTable policies,
            @Nullable Authenticator authenticator,
            ControlPlane control,
            AddedLayers added,
            Service stack,
            IngressSettings settings) {

        /** Closes what the other one does not use. */
        void closeBut(Configured used) {
            control.close();
            added.close();
            policies.closeBut(used.policies);
            upstreams.close();
            Authenticator.closeUnless(used.authenticator, authenticator);
        }
    }

    /** The stack of the current configuration. */
    private final class CurrentStack implements Service {
        @Override
        public RequestSink open(Call call, Reply reply) {
            return current.stack().open(call, reply);
        }

        @Override
        public void checkHead(CallContext call, Permission permission) {
            current.stack().checkHead(call, permission);
        }

        @Override
        public void reject(CallContext call, OipException refusal, Reply reply) {
            current.stack().reject(call, refusal, reply);
        }
    }

    /** Starts; listeners are bound when this returns. */
    public static ProxyServer start(GatewayConfig config) throws Exception {
        return start(config, BufferAllocators.shared());
    }

    /** As the other one, from YAML; clients get the servers' error texts. */
    public static ProxyServer start(String yaml) throws Exception {
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", yaml, Path.of("."));
        ResponseConfig passed = TestConfigs.with(config.answers(), Map.of("errors", GatewayConfig.ErrorTexts.PASSED));
        return start(TestConfigs.with(config, Map.of("answers", passed)));
    }

    /** As the other one, with this allocator for the buffers of all connections. */
    public static ProxyServer start(GatewayConfig config, ByteBufAllocator allocator) throws Exception {
        return start(config, allocator, ControlPlane.NONE);
    }

    /** As the other one, with a control plane. */
    public static ProxyServer start(GatewayConfig config, ByteBufAllocator allocator, ControlPlane.Factory control)
            throws Exception {
        Transport transport = Transport.best();
        EventLoopGroup loops = EventLoops.start(transport);
        try {
            return new ProxyServer(config, transport, loops, allocator, control);
        } catch (Exception e) {
            EventLoops.stop(loops);
            throw e;
        }
    }

    private ProxyServer(
            GatewayConfig config,
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            ControlPlane.Factory control)
            throws Exception {
        this.loops = loops;
        this.control = control;
        state = new GatewayState(new AllocationProbe(allocator), () -> true);
        BufferAllocators.trim(allocator, loops);
        memory = new MemoryBudget(0, () -> BufferAllocators.pinned(allocator), meters);
        upstreams = Upstreams.UpstreamResources.real(
                loops.next(), allocator, meters, tls, connections.table(), state::isStopping);
        sharing = new FleetSharing(config, meters, scheduler);
        sharing.share(upstreams.clusterResources().drained());
        shadows = new ShadowRuntime(
                meters,
                upstreams.clusterResources().random(),
                System::nanoTime,
                sharing.ramps()::differed,
                ShadowLimits.DEFAULT);
        ConnectionMetrics connectionMetrics = new ConnectionMetrics(meters);
        connectionMetrics.show(connections);
        connectionPolicies = new ConnectionPolicies(connectionMetrics);
        EventLoopMetrics.register(loops, meters);
        ListenerContext entry = new ListenerContext(new CurrentStack(), () -> current.settings(), connections, memory);
        listeners = new Listeners(transport, loops, allocator, entry, tls, meters);
        current = configured(config, null);
        listeners.prepare(config.listeners()).commit();
        drain = new DrainSequence(connections.drain(), calls::inFlight, listeners::close);
        begin(current);
        tls.watch(scheduler);
        state.show(meters, this::ready);
        state.serving();
    }

    private Configured configured(GatewayConfig config, @Nullable Configured previous) throws ConfigException {
        Authenticator authenticator = Authenticator.renewed(
                previous == null ? null : previous.authenticator(), config.authentication(), access);
        Upstreams made = new Upstreams(config, upstreams);
        made.awaitResolution();
        made.awaitLocalModels(state::ending);
        InferRules rules = InferRules.of(config);
        ControlPlane[] plane = new ControlPlane[1];
        String fallback = config.defaultUpstream();
        RoutingTable routes = new RoutingTable(
                config.models(),
                made::required,
                fallback == null ? null : made.required(fallback),
                () -> plane[0].discovered(),
                SelectionState.of(System::nanoTime));
        CallerAccess callers = CallerAccess.of(config, authenticator, access);
        plane[0] =
                control.of(new ControlPlane.DataPlane(config, made, upstreams, routes, rules.limits(), callers, state));
        Transcoder transcoder = new Transcoder(rules.limits());
        RoutePolicyTable policies = new RoutePolicyTable(
                routes,
                Admission.ConcurrencyLimits.of(config),
                transcoder,
                new RoutePolicyTable.PolicyResources(
                        meters, System::nanoTime, shadows, sharing.ramps(), memory, sharing.counters()),
                previous == null ? null : previous.policies());
        RouteKeys keys = RouteKeys.of(calls, plane[0]::lists);
        ProxyStack proxy = new ProxyStack(config, callers, routes, keys, policies, plane[0].signatures(), meters);
        AddedLayers added = new AddedLayers(config, upstreams);
        Service stack = ProxyStack.of(
                added.among(each -> proxy.layer(each, this::recording)),
                plane[0].fleet(),
                rules,
                transcoder,
                state,
                meters,
                System::nanoTime);
        IngressSettings settings =
                IngressSettings.of(config, new Http2AbuseMetrics(meters).ofClients(), connectionPolicies);
        return new Configured(config, made, routes, policies, authenticator, plane[0], added, stack, settings);
    }

    /** Of the layers that are made above this module only the names are there. */
    private Layer recording(BuiltInLayer layer) {
        return switch (layer) {
            case ACCESS_LOG -> accessLog;
            case CALLER_METRICS -> access;
            case CALL_METRICS -> calls;
            case TRACING -> tracing;
            case PAYLOAD_LOG -> payloads;
            default -> layer::toString;
        };
    }

    private void begin(Configured next) {
        GatewayConfig config = next.config();
        long direct = PlatformDependent.maxDirectMemory();
        long held = (long) (config.limits().maxBuffered() * direct);
        memory.limit(held, held + (direct - held) / 2);
        upstreams.checked().configure(next.routes());
        next.upstreams().install();
        upstreams.clusterResources().modelChecks().perSecond(config.health().maxModelChecks());
        next.policies().install();
        tracing.configure(config.tracing(), config.headers().forwarded());
        accessLog.configure(config.accessLog());
        calls.limit(config.metrics().maxSeries());
        exports.configure(config.metrics().otlp());
        payloads.configure(config.payloadLog());
        next.control().start();
    }

    /** Reads changed certificates. */
    public void reload() {
        tls.checkNow();
    }

    /**
     * Applies another configuration; no call may be active at a server that it removes.
     *
     * @throws Exception if it cannot be applied; nothing changes then
     */
    public void reload(GatewayConfig config) throws Exception {
        Configured old = current;
        Configured next = configured(config, old);
        Listeners.Change change;
        try {
            change = listeners.prepare(config.listeners());
        } catch (Exception e) {
            next.closeBut(old);
            throw e;
        }
        begin(next);
        current = next;
        change.commit();
        old.closeBut(next);
    }

    public GatewayConfig config() {
        return current.config();
    }

    public MeterRegistry meters() {
        return meters;
    }

    public ShadowRuntime shadows() {
        return shadows;
    }

    public DrainedServers drained() {
        return upstreams.clusterResources().drained();
    }

    public Ramps ramps() {
        return sharing.ramps();
    }

    /** The current control plane. */
    public ControlPlane control() {
        return current.control();
    }

    /** The listeners' addresses, with their actual ports. */
    public List<InetSocketAddress> addresses() {
        return listeners.addresses();
    }

    /** The servers of all upstreams that are checked. */
    public List<ReplicaStatus> servers() {
        return current.upstreams().all().stream()
                .filter(Cluster.class::isInstance)
                .flatMap(cluster -> ((Cluster) cluster).replicas().members().stream())
                .toList();
    }

    /** Whether every server was checked and is ready. */
    public boolean ready() {
        return servers().stream().allMatch(server -> server.checked() && server.ready());
    }

    /** Host and port of the first listener. */
    public String address() {
        InetSocketAddress address = addresses().getFirst();
        return address.getAddress().getHostAddress() + ":" + address.getPort();
    }

    /** For further listeners in front of the same stack. */
    public ListenerContext listenerContext() {
        return new ListenerContext(new CurrentStack(), () -> current.settings());
    }

    /** Waits until all connections have been told that the gateway drains. */
    public void awaitDraining() {
        await().atMost(Duration.ofSeconds(30)).until(connections.drain()::draining);
        // Has no effect but to wait for the one that tells them.
        connections.drain().start(ConnectionDrain.DrainStep.DRAINING);
    }

    /** Ends as a gateway that drains. */
    public void drain(boolean delayed) throws InterruptedException {
        if (state.draining()) {
            Drain times = config().drain();
            drain.run("test", delayed ? times.delay() : Duration.ZERO, times.timeout());
            close();
        }
    }

    @Override
    public synchronized void close() {
        if (loops.isShuttingDown()) {
            return;
        }
        state.stopping();
        listeners.close();
        drain.end();
        sharing.close();
        scheduler.shutdownNow();
        current.control().close();
        current.added().close();
        upstreams.pool().close();
        EventLoops.drain(loops);
        EventLoops.stop(loops);
        current.policies().close();
        Authenticator.closeUnless(null, current.authenticator());
        shadows.close();
        metrics.close();
        accessLog.close();
        exports.close();
        tracing.close();
        payloads.close();
    }
}

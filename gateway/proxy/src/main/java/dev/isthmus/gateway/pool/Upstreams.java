package dev.isthmus.gateway.pool;

import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.ClusterResources;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.ReplicaSet;
import dev.isthmus.gateway.fleet.discovery.DnsDiscovery;
import dev.isthmus.gateway.fleet.discovery.TritonMetrics;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery;
import dev.isthmus.gateway.http2.AbuseLimits;
import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.metrics.Http2AbuseMetrics;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.pool.Upstreams.UpstreamPool.Lease;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ModelControl;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamTls;
import dev.isthmus.gateway.tls.ClientTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.local.LocalProcess;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.LocalSettings;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The upstreams of one configuration by name, created or shared with the previous generation. */
public final class Upstreams implements AutoCloseable {
    /** What servers say of caching is always returned: the gateway's cache needs it, and others on the way. */
    private static final Set<String> FOR_CACHES = Set.of("cache-control", "vary");

    private static final Logger LOG = LoggerFactory.getLogger(Upstreams.class);
    /** An object of one byte takes some 50 on the heap. */
    private static final int HEAP_SHARE = 128;

    private final GatewayConfig config;
    private final Map<String, Lease> leases = new TreeMap<>();
    private final Map<Upstream, LocalProcess> processes;

    /**
     * The gateway's resources that upstreams use.
     *
     * @param pool the upstreams of all configurations
     * @param kubernetes watches Services, as others resolve names
     * @param tls where TLS contexts are made
     * @param checked the models checked on each server
     * @param connections where open connections are listed
     * @param processes of upstreams with local models that have a process of their own
     */
    public record UpstreamResources(
            UpstreamPool pool,
            ClusterResources clusterResources,
            KubernetesDiscovery kubernetes,
            TlsRegistry tls,
            CheckedModels checked,
            ConnectionTable connections,
            Map<Upstream, LocalProcess> processes) {

        /**
         * With the system clock and this machine's name servers; no models are checked yet. Not to be called on a loop.
         *
         * @param ending whether the gateway is shutting down
         */
        public static UpstreamResources real(
                EventLoop loop,
                ByteBufAllocator allocator,
                MeterRegistry meters,
                TlsRegistry tls,
                ConnectionTable connections,
                BooleanSupplier ending) {
            ClusterResources clusterResources = ClusterResources.real(
                    loop, allocator, meters, DnsDiscovery.ofMachine(loop), new TritonMetrics(loop, null), ending);
            var kubernetes = new KubernetesDiscovery(loop, System.getenv(), clusterResources.random());
            return new UpstreamResources(
                    new UpstreamPool(),
                    clusterResources,
                    kubernetes,
                    tls,
                    new CheckedModels(),
                    connections,
                    new ConcurrentHashMap<>());
        }

        /** Those of an upstream: its Services are watched, its names resolved. */
        private ClusterResources of(RemoteUpstreamKey remote) {
            return remote.kubernetes() == null
                    ? clusterResources
                    : clusterResources.withDiscovery(
                            kubernetes.with(clusterResources.discovery(), remote.kubernetes()));
        }
    }

    /**
     * Everything a remote upstream is created from: if it is equal, the upstream is shared. Servers that are endpoints by
     * their addresses, and the gateway's headers, are not part of it.
     */
    private record RemoteUpstreamKey(
            String name,
            UpstreamConfig config,
            int maxBodySize,
            long maxDocumentSize,
            HeaderAllowList returned,
            @Nullable KubernetesConfig kubernetes) {

        static RemoteUpstreamKey of(GatewayConfig config, String name, UpstreamConfig upstream) {
            boolean services =
                    upstream.endpoints().stream().anyMatch(ServerAddress.KubernetesService.class::isInstance);
            return new RemoteUpstreamKey(
                    name,
                    upstream.lasting(),
                    config.limits().maxBodySize(),
                    Math.min(
                            config.limits().maxManagementResponseSize(),
                            Runtime.getRuntime().maxMemory() / HEAP_SHARE),
                    config.headers().returned().with(FOR_CACHES),
                    services ? config.kubernetes() : null);
        }
    }

    /** Creates or shares them. Those that are shared stay as they are until {@link #install}. May block. */
    public Upstreams(GatewayConfig config, UpstreamResources resources) {
        this.config = config;
        processes = resources.processes();
        UpstreamPool pool = resources.pool();
        try {
            config.upstreams().forEach((name, upstream) -> {
                RemoteUpstreamKey remote = RemoteUpstreamKey.of(config, name, upstream);
                leases.put(
                        name,
                        pool.lease(
                                remote,
                                () -> remote(remote, upstream, resources),
                                shared -> ((Cluster) shared).replicas().keepsAny(upstream.endpoints())));
            });
            LocalConfig local = config.local();
            if (local != null) {
                leases.put(
                        GatewayConfig.LOCAL,
                        pool.lease(localKey(config, local), () -> local(config, local, resources), existing -> true));
            }
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Everything that the upstream of the local models is created from. */
    private static Object localKey(GatewayConfig config, LocalConfig local) {
        return local.process() == LocalConfig.ProcessKind.SHARED
                ? local
                : List.of(LocalProcess.configuration(config), config.headers().returned());
    }

    private static Upstream local(GatewayConfig config, LocalConfig local, UpstreamResources resources) {
        if (local.process() == LocalConfig.ProcessKind.OWN) {
            return ownProcess(config, resources);
        }
        int threads =
                local.threads() > 0 ? local.threads() : Runtime.getRuntime().availableProcessors();
        LocalBackend backend = LocalBackend.start(new LocalSettings(
                local.modelRepository(),
                local.embeddedModels(),
                threads,
                local.queueSize(),
                local.modelControl() == ModelControl.EXPLICIT,
                local.load(),
                local.device(),
                local.loadTimeout()));
        return new LocalUpstream(
                backend, local.timeout(), resources.clusterResources().meters());
    }

    private static Upstream ownProcess(GatewayConfig config, UpstreamResources resources) {
        LocalProcess process = LocalProcess.start(config);
        UpstreamConfig upstream = process.upstream();
        RemoteUpstreamKey remote = RemoteUpstreamKey.of(config, GatewayConfig.LOCAL, upstream);
        Cluster cluster = cluster(remote, upstream, resources, resources.clusterResources(), null, () -> {
            process.close();
            resources.processes().values().remove(process);
        });
        resources.processes().put(cluster, process);
        return cluster;
    }

    private static Upstream remote(RemoteUpstreamKey remote, UpstreamConfig config, UpstreamResources resources) {
        UpstreamTls settings = config.tls();
        ClusterResources shared = resources.of(remote);
        if (settings == null) {
            return cluster(remote, config, resources, shared, null, () -> {});
        }
        ClientTls tls = resources.tls().client("upstream '" + remote.name() + "'", settings);
        return cluster(
                remote, config, resources, shared.withPending(new TritonMetrics(shared.loop(), tls)), tls, tls::close);
    }

    /** @param closed called after the cluster was closed */
    private static Cluster cluster(
            RemoteUpstreamKey remote,
            UpstreamConfig config,
            UpstreamResources resources,
            ClusterResources clusterResources,
            @Nullable ClientTls tls,
            Runnable closed) {
        String name = remote.name();
        var capabilities = new ServerCapabilities(config.dialect(), config.binaryTensorData(), config.sharedMemory());
        AbusePolicy abuse = abusePolicy(name, config.http2Abuse(), clusterResources.meters());
        Function<DiscoveredServer, Upstream> factory = server -> {
            UpstreamSettings settings = new UpstreamSettings(
                    name,
                    server.address(),
                    Objects.requireNonNullElse(config.host(), server.authority()),
                    Objects.requireNonNullElse(config.pathPrefix(), ""),
                    tls == null ? null : tls.to(server.authority()),
                    config.timeout(),
                    config.connectTimeout(),
                    remote.maxBodySize(),
                    remote.maxDocumentSize(),
                    remote.returned(),
                    abuse,
                    resources.connections(),
                    clusterResources.ending());
            return switch (config.protocol()) {
                case GRPC -> new GrpcUpstream(settings, capabilities, clusterResources.allocator());
                case REST -> new RestUpstream(settings, capabilities, PoolLimits.DEFAULT, clusterResources.allocator());
            };
        };
        ReplicaSet replicas =
                new ReplicaSet(name, config, factory, () -> resources.checked().of(name), clusterResources);
        return new Cluster(name, config, capabilities, replicas, closed);
    }

    /** Does not limit stream resets and errors: a server's affect only its own calls. */
    private static AbusePolicy abusePolicy(
            String name, UpstreamConfig.UpstreamHttp2Abuse config, MeterRegistry meters) {
        AbuseLimits limits = new AbuseLimits(
                BucketLimit.ANY,
                BucketLimit.ANY,
                new BucketLimit(config.controlFrameBurst(), config.controlFrameRate()),
                config.controlFramesPerData(),
                config.maxQueuedFrames());
        return new AbusePolicy(limits, new Http2AbuseMetrics(meters).ofUpstream(name));
    }

    /** Gives those that were shared the endpoints and headers of this configuration, which takes effect. */
    public void install() {
        config.upstreams().forEach((name, upstream) -> {
            servers(name).ownHeaders(upstream.headers());
            servers(name).literals(upstream.endpoints());
        });
    }

    private ReplicaSet servers(String name) {
        return ((Cluster) required(name)).replicas();
    }

    /** Waits for the names and Services of every upstream to be resolved, for at most its connect timeout. Blocks. */
    public void awaitResolution() {
        long start = System.nanoTime();
        config.upstreams().forEach((name, upstream) -> {
            long remaining = upstream.connectTimeout().toNanos() - (System.nanoTime() - start);
            try {
                servers(name).resolved().get(remaining, TimeUnit.NANOSECONDS);
            } catch (ExecutionException | TimeoutException e) {
                LOG.atWarn()
                        .addKeyValue("upstream", name)
                        .log(
                                "upstream '{}': not all names and Services were resolved within the connect timeout; check"
                                        + " its endpoints, DNS and the API server",
                                name);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    /**
     * Waits until the local models of the start are loaded or have failed.
     *
     * @param ending ends it early
     */
    public Set<Upstream> awaitLocalModels(BooleanSupplier ending) {
        Lease local = leases.get(GatewayConfig.LOCAL);
        if (local == null) {
            return Set.of();
        }
        if (local.upstream() instanceof LocalUpstream upstream) {
            upstream.awaitStart(ending);
        } else {
            Objects.requireNonNull(processes.get(local.upstream())).awaitLoaded(ending);
        }
        return Set.of(local.upstream());
    }

    /** The local models that are not loaded because they ran when their process crashed. */
    public Set<String> excludedModels() {
        Lease local = leases.get(GatewayConfig.LOCAL);
        LocalProcess process = local == null ? null : processes.get(local.upstream());
        return process == null ? Set.of() : process.excluded();
    }

    /** All upstreams, in order of their names. */
    public List<Upstream> all() {
        return leases.values().stream().map(Lease::upstream).toList();
    }

    public Upstream required(String name) {
        return Objects.requireNonNull(leases.get(name)).upstream();
    }

    @Override
    public void close() {
        leases.values().forEach(Lease::close);
    }

    /** The models whose readiness is checked on every server of an upstream: those configured by name. */
    public static final class CheckedModels {
        private volatile Map<String, Set<ModelRef>> byUpstream = Map.of();

        /** The checked models, under their names on the upstream's servers. */
        Set<ModelRef> of(String upstream) {
            return byUpstream.getOrDefault(upstream, Set.of());
        }

        /** Replaces the models with those of this table. */
        public void configure(RoutingTable routes) {
            Map<String, Set<ModelRef>> models = new HashMap<>();
            for (Route route : routes.routes()) {
                if (!ModelPattern.is(route.key())) {
                    for (Target target : route.targets(ModelRef.of(route.key()))) {
                        models.computeIfAbsent(target.upstream().name(), upstream -> new HashSet<>())
                                .add(target.model());
                    }
                }
            }
            byUpstream = Map.copyOf(models);
        }
    }

    /**
     * The upstreams of all generations. Equally configured upstreams are shared, so that connections and the state of
     * servers survive a reload; an upstream is closed with its last lease. Thread-safe; not for event loops, since it may
     * block.
     */
    public static final class UpstreamPool implements AutoCloseable {
        /** Those that are leased, the newest last: one that does not suit a configuration is used by another one. */
        private final Map<Object, List<LeasedUpstream>> byKey = new HashMap<>();

        private record LeasedUpstream(Upstream upstream, AtomicInteger leases) {}

        /** The right to use an upstream until {@link #close()}, which may be called more than once. */
        final class Lease implements AutoCloseable {
            private final Object key;
            private final LeasedUpstream leased;
            private boolean closed;

            private Lease(Object key, LeasedUpstream leased) {
                this.key = key;
                this.leased = leased;
            }

            Upstream upstream() {
                return leased.upstream;
            }

            @Override
            public void close() {
                boolean last;
                synchronized (UpstreamPool.this) {
                    last = !closed && leased.leases.decrementAndGet() == 0;
                    closed = true;
                    if (last) {
                        byKey.computeIfPresent(key, (same, all) -> all.remove(leased) && all.isEmpty() ? null : all);
                    }
                }
                if (last) {
                    leased.upstream.close();
                }
            }
        }

        /**
         * Leases the newest upstream with this key, and creates another one if there is none, or it does not suit.
         *
         * @param key everything that its construction depends on, and that cannot be changed later
         * @param suits whether an existing one may be shared
         */
        synchronized Lease lease(Object key, Supplier<Upstream> factory, Predicate<Upstream> suits) {
            List<LeasedUpstream> all = byKey.getOrDefault(key, new ArrayList<>());
            LeasedUpstream leased = all.isEmpty() ? null : all.getLast();
            if (leased == null || !suits.test(leased.upstream)) {
                leased = new LeasedUpstream(factory.get(), new AtomicInteger());
                all.add(leased);
                byKey.put(key, all);
            }
            leased.leases.incrementAndGet();
            return new Lease(key, leased);
        }

        /** Closes all upstreams, regardless of their leases. */
        @Override
        public void close() {
            List<LeasedUpstream> all = new ArrayList<>();
            synchronized (this) {
                byKey.values().forEach(all::addAll);
                all.forEach(leased -> leased.leases.set(0));
                byKey.clear();
            }
            all.forEach(leased -> leased.upstream.close());
        }
    }
}

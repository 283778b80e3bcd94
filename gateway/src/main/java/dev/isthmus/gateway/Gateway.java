package dev.isthmus.gateway;

import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.GatewayConfig.LocalConfig;
import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.config.UpstreamConfig;
import dev.isthmus.gateway.dispatch.Dispatcher;
import dev.isthmus.gateway.dispatch.InferRules;
import dev.isthmus.gateway.dispatch.Prober;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.Opening;
import dev.isthmus.gateway.fleet.ReplicaSet;
import dev.isthmus.gateway.fleet.Surroundings;
import dev.isthmus.gateway.fleet.discovery.DnsDiscovery;
import dev.isthmus.gateway.fleet.discovery.TritonMetrics;
import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.routing.Choices;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.WireLimits;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The gateway, wired and running from its construction to {@link #close()}. */
public final class Gateway implements AutoCloseable {
    private static final List<String> EXTENSIONS = List.of("binary_tensor_data");
    private static final long QUIET_MILLIS = 0;
    private static final long PATIENCE_MILLIS = 5_000;

    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);

    private final Transport transport = Transport.best();
    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(0, new DefaultThreadFactory("isthmus-loop"), transport.ioHandlerFactory());
    private final MeterRegistry meters = new CompositeMeterRegistry();
    private final Map<String, Upstream> upstreams = new HashMap<>();
    private final List<IngressServer> servers = new ArrayList<>();
    private final Prober prober;

    /**
     * Starts a gateway; its ports are bound when this returns.
     *
     * @throws OipException when the local backend's repository cannot be read
     * @throws Exception when a port cannot be bound; nothing is left running then
     */
    public static Gateway start(GatewayConfig config) throws Exception {
        Gateway gateway = new Gateway(config);
        try {
            gateway.awaitNames(config);
            gateway.listen(config);
            return gateway;
        } catch (Exception e) {
            gateway.close();
            throw e;
        }
    }

    private Gateway(GatewayConfig config) {
        config.upstreams().forEach((name, upstream) -> upstreams.put(name, remote(name, upstream, config)));
        if (config.local() != null) {
            upstreams.put(GatewayConfig.LOCAL, new LocalUpstream(local(config.local())));
        }
        prober = new Prober(List.copyOf(upstreams.values()), loops.next(), ByteBufAllocator.DEFAULT);
    }

    private Cluster remote(String name, UpstreamConfig config, GatewayConfig all) {
        var knowledge = new PeerKnowledge(config.dialect(), config.binaryTensorData(), config.sharedMemory());
        Opening opening = (address, authority) -> {
            UpstreamSettings settings = new UpstreamSettings(
                    name,
                    address,
                    authority,
                    config.timeout(),
                    config.connectTimeout(),
                    all.limits().maxBodySize(),
                    all.headers().returned());
            return switch (config.protocol()) {
                case GRPC -> new GrpcUpstream(settings, knowledge, ByteBufAllocator.DEFAULT);
                case REST -> new RestUpstream(settings, knowledge, PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
            };
        };
        EventLoop loop = loops.next();
        Surroundings around = Surroundings.real(
                loop, ByteBufAllocator.DEFAULT, meters, DnsDiscovery.ofMachine(loop), new TritonMetrics(loop));
        Set<ModelRef> models = modelsOf(name, all);
        return new Cluster(
                name, config, knowledge, ReplicaSet.start(name, config, opening, () -> models, around), meters);
    }

    /** Waits for the names of every upstream, each at most for as long as it may take to connect to it. */
    private void awaitNames(GatewayConfig config) throws InterruptedException {
        long begun = System.nanoTime();
        for (Map.Entry<String, UpstreamConfig> each : config.upstreams().entrySet()) {
            long left = each.getValue().connectTimeout().toNanos() - (System.nanoTime() - begun);
            try {
                if (upstreams.get(each.getKey()) instanceof Cluster cluster) {
                    cluster.lookedUp().get(left, TimeUnit.NANOSECONDS);
                }
            } catch (ExecutionException | TimeoutException e) {
                LOG.warn("upstream '{}' starts before its names are known", each.getKey());
            }
        }
    }

    /** The models that are configured to go to an upstream, as it knows them. */
    private static Set<ModelRef> modelsOf(String upstream, GatewayConfig config) {
        Set<ModelRef> models = new HashSet<>();
        config.models().forEach((name, model) -> {
            for (ModelConfig.Target target : model.allTargets()) {
                if (target.upstream().equals(upstream) && name.indexOf('*') < 0) {
                    models.add(new ModelRef(
                            Objects.requireNonNullElse(target.model(), name),
                            Objects.requireNonNullElse(target.version(), "")));
                }
            }
        });
        return Set.copyOf(models);
    }

    private static LocalBackend local(LocalConfig config) {
        int threads =
                config.threads() > 0 ? config.threads() : Runtime.getRuntime().availableProcessors();
        return config.modelRepository() == null
                ? LocalBackend.embedded(threads, config.queueSize())
                : LocalBackend.of(config.modelRepository(), config.embeddedModels(), threads, config.queueSize());
    }

    private void listen(GatewayConfig config) throws Exception {
        String fallback = config.defaultUpstream();
        RoutingTable routes = new RoutingTable(
                config.models(),
                this::required,
                fallback == null ? null : required(fallback),
                Map::of,
                Choices.of(System::nanoTime));
        ServerMetadata self = new ServerMetadata("isthmus", Version.current(), EXTENSIONS);
        WireLimits limits = WireLimits.DEFAULT.withBodyBytes(config.limits().maxBodySize());
        GatewayConfig.Answers answers = config.answers();
        InferRules rules = new InferRules(limits, answers.nonFinite());
        Dispatcher dispatcher = new Dispatcher(routes, prober::allReady, self, rules);
        IngressSettings settings = new IngressSettings(
                config.limits().maxBodySize(),
                config.limits().maxConcurrentStreams(),
                config.headers().forwarded(),
                IngressSettings.StreamForm.valueOf(answers.streamForm().name()),
                new IngressSettings.Health(
                        answers.healthBody() == GatewayConfig.HealthBody.JSON, answers.notReadyStatus()),
                answers.compress() ? answers.compressAbove() : -1);
        for (GatewayConfig.Listener listener : config.listeners()) {
            InetSocketAddress address = new InetSocketAddress(listener.host(), listener.port());
            servers.add(IngressServer.listen(transport, loops, address, dispatcher, settings));
        }
        prober.start();
    }

    private Upstream required(String name) {
        Upstream upstream = upstreams.get(name);
        if (upstream == null) {
            throw new IllegalArgumentException("no upstream is named '" + name + "'");
        }
        return upstream;
    }

    /** The addresses that are listened on, with the ports that were chosen. */
    public List<InetSocketAddress> addresses() {
        return servers.stream().map(IngressServer::address).toList();
    }

    /** Whether every upstream was ready when it was last asked. */
    public boolean ready() {
        return prober.allReady();
    }

    /** Stops accepting and ends everything. */
    @Override
    public void close() {
        servers.forEach(IngressServer::close);
        prober.close();
        upstreams.values().forEach(Upstream::close);
        loops.shutdownGracefully(QUIET_MILLIS, PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                .syncUninterruptibly();
    }
}

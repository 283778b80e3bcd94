package dev.isthmus.gateway;

import dev.isthmus.gateway.config.Endpoint;
import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.GatewayConfig.LocalConfig;
import dev.isthmus.gateway.config.ServerAddress;
import dev.isthmus.gateway.config.UpstreamConfig;
import dev.isthmus.gateway.dispatch.Dispatcher;
import dev.isthmus.gateway.dispatch.InferRules;
import dev.isthmus.gateway.dispatch.Prober;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The gateway, wired and running from its construction to {@link #close()}. */
public final class Gateway implements AutoCloseable {
    private static final List<String> EXTENSIONS = List.of("binary_tensor_data");
    private static final long QUIET_MILLIS = 0;
    private static final long PATIENCE_MILLIS = 5_000;

    private final Transport transport = Transport.best();
    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(0, new DefaultThreadFactory("isthmus-loop"), transport.ioHandlerFactory());
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

    private Upstream remote(String name, UpstreamConfig config, GatewayConfig all) {
        var knowledge = new PeerKnowledge(config.dialect(), config.binaryTensorData(), config.sharedMemory());
        List<Upstream> servers = new ArrayList<>();
        for (ServerAddress address : config.endpoints()) {
            Endpoint endpoint = ((ServerAddress.At) address).endpoint();
            UpstreamSettings settings = new UpstreamSettings(
                    name,
                    endpoint,
                    endpoint.authority(),
                    config.timeout(),
                    config.connectTimeout(),
                    all.limits().maxBodySize(),
                    all.headers().returned());
            servers.add(
                    switch (config.protocol()) {
                        case GRPC -> new GrpcUpstream(settings, knowledge, ByteBufAllocator.DEFAULT);
                        case REST ->
                            new RestUpstream(settings, knowledge, PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
                    });
        }
        Wire wire = switch (config.protocol()) {
            case GRPC -> Wire.PROTOBUF;
            case REST -> Wire.REST;
        };
        return new Cluster(name, wire, knowledge, servers);
    }

    private static LocalBackend local(LocalConfig config) {
        int threads =
                config.threads() > 0 ? config.threads() : Runtime.getRuntime().availableProcessors();
        return config.modelRepository() == null
                ? LocalBackend.embedded(threads, config.queueSize())
                : LocalBackend.of(config.modelRepository(), config.embeddedModels(), threads, config.queueSize());
    }

    private void listen(GatewayConfig config) throws Exception {
        Map<String, Upstream> byModel = new HashMap<>();
        config.models()
                .forEach((model, route) ->
                        byModel.put(model, required(route.allTargets().get(0).upstream())));
        String fallback = config.defaultUpstream();
        RoutingTable routes = new RoutingTable(byModel, fallback == null ? null : required(fallback));
        ServerMetadata self = new ServerMetadata("isthmus", Version.current(), EXTENSIONS);
        WireLimits limits = WireLimits.DEFAULT.withBodyBytes(config.limits().maxBodySize());
        GatewayConfig.Answers answers = config.answers();
        InferRules rules = new InferRules(limits, answers.nonFinite());
        Dispatcher dispatcher = new Dispatcher(routes, model -> Shadows.NONE, prober::allReady, self, rules);
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

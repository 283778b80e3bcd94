package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.config.Endpoint;
import dev.isthmus.gateway.config.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.config.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.dispatch.Dispatcher;
import dev.isthmus.gateway.dispatch.InferRules;
import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.shadow.DifferenceListener;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.ScriptedServer;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.NonFinite;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.WireLimits;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** Ingress and dispatch on a free port of loopback, in front of a main server and a shadow. */
final class ShadowedGateway implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final ShadowRuntime runtime = new ShadowRuntime(
            registry, new SplittableRandom(1), System::nanoTime, DifferenceListener.NONE, ShadowLimits.DEFAULT);
    private final List<Upstream> upstreams;
    private final Shadows shadows;
    private final IngressServer server;
    private final ManagedChannel channel;

    ShadowedGateway(Upstream main, Upstream shadow, Duration timeout) throws Exception {
        WireLimits limits = WireLimits.DEFAULT;
        upstreams = List.of(main, shadow);
        ModelConfig.Shadow config = new ModelConfig.Shadow("next", "shadow", null, null, 1, true, timeout, 16);
        shadows = Shadows.of(
                "*", List.of(config), asked -> List.of(new Target(shadow, asked)), new Transcoder(limits), runtime);
        RoutingTable routes = new RoutingTable(Map.of(), main);
        ServerMetadata self = new ServerMetadata("isthmus", "", List.of());
        Dispatcher dispatcher =
                new Dispatcher(routes, model -> shadows, () -> true, self, new InferRules(limits, NonFinite.TOKEN));
        IngressSettings settings = new IngressSettings(
                Stage.LIMIT,
                100,
                HeaderNames.of(List.of()),
                IngressSettings.StreamForm.TRITON,
                IngressSettings.Health.DEFAULT,
                -1);
        server = IngressServer.listen(
                Transport.best(),
                loops,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                dispatcher,
                settings);
        channel = NettyChannelBuilder.forAddress(server.address())
                .usePlaintext()
                .directExecutor()
                .build();
    }

    static Upstream grpc(Endpoint endpoint) {
        return new GrpcUpstream(settings(endpoint), knowledge(), ByteBufAllocator.DEFAULT);
    }

    static Upstream grpc(OipServer server) {
        return grpc(server.endpoint());
    }

    static Upstream rest(ScriptedServer server) {
        return rest(server, knowledge());
    }

    /** A server that shares memory with its clients. */
    static Upstream sharing(ScriptedServer server) {
        return rest(server, new PeerKnowledge(ServerDialect.MLSERVER, BinaryTensorData.FALSE, true));
    }

    private static Upstream rest(ScriptedServer server, PeerKnowledge knowledge) {
        return new RestUpstream(settings(server.endpoint()), knowledge, PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
    }

    private static PeerKnowledge knowledge() {
        return new PeerKnowledge(ServerDialect.MLSERVER, BinaryTensorData.FALSE, false);
    }

    private static UpstreamSettings settings(Endpoint endpoint) {
        return UpstreamSettings.of("server", endpoint, PATIENCE, Duration.ofSeconds(5), Stage.LIMIT);
    }

    Http1Client http1() throws IOException {
        return new Http1Client(
                new Socket(InetAddress.getLoopbackAddress(), server.address().getPort()));
    }

    ManagedChannel channel() {
        return channel;
    }

    void awaitRequests(String outcome, int count) {
        await().atMost(PATIENCE)
                .until(() -> registry.get("isthmus.shadow.requests").tag("outcome", outcome).counters().stream()
                                .mapToDouble(counter -> counter.count())
                                .sum()
                        == count);
    }

    void awaitComparisons(String outcome, int count) {
        await().atMost(PATIENCE)
                .until(() -> registry.get("isthmus.shadow.comparisons")
                                .tag("outcome", outcome)
                                .counter()
                                .count()
                        == count);
    }

    double worstDifference() {
        return runtime.reports().get(0).worstDifference();
    }

    @Override
    public void close() {
        channel.shutdownNow();
        await().atMost(PATIENCE).until(channel::isTerminated);
        server.close();
        upstreams.forEach(Upstream::close);
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        shadows.close();
        runtime.close();
    }
}

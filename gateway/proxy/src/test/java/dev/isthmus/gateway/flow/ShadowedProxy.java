package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A gateway in front of a primary server and a shadow for every model. */
final class ShadowedProxy implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ProxyServer gateway;
    private final ManagedChannel channel;

    ShadowedProxy(UpstreamConfig main, UpstreamConfig shadow, Duration timeout) throws Exception {
        ModelConfig.ShadowConfig config =
                new ModelConfig.ShadowConfig("next", "shadow", null, null, 1, true, 0, 0, timeout, 16);
        ModelConfig model = TestConfigs.with(ModelConfig.of("main"), Map.of("shadow", List.of(config)));
        gateway = ProxyServer.start(TestConfigs.with(
                GatewayConfig.embedded().withListener(Listener.DEFAULT.at("127.0.0.1", 0)),
                Map.of(
                        "upstreams",
                        Map.of("main", untried(main), "shadow", untried(shadow)),
                        "models",
                        Map.of("*", model))));
        channel = NettyChannelBuilder.forAddress("127.0.0.1", port())
                .usePlaintext()
                .directExecutor()
                .build();
    }

    /** Without retries. */
    private static UpstreamConfig untried(UpstreamConfig config) {
        return TestConfigs.with(
                config,
                Map.of(
                        "retry",
                        new UpstreamConfig.Retry(0, Set.of(), 0, 1),
                        "breaker",
                        new UpstreamConfig.Breaker(1, 100, 100, Duration.ofSeconds(1))));
    }

    private int port() {
        return gateway.addresses().get(0).getPort();
    }

    static UpstreamConfig grpc(Endpoint endpoint) {
        return Stage.upstream(UpstreamProtocol.GRPC, endpoint, ServerDialect.MLSERVER, BinaryTensorData.FALSE, false);
    }

    static UpstreamConfig grpc(FakeGrpcServer server) {
        return grpc(server.endpoint());
    }

    static UpstreamConfig rest(FakeRestServer server) {
        return Stage.upstream(
                UpstreamProtocol.REST, server.endpoint(), ServerDialect.MLSERVER, BinaryTensorData.FALSE, false);
    }

    /** A server that supports shared memory. */
    static UpstreamConfig sharing(FakeRestServer server) {
        return Stage.upstream(
                UpstreamProtocol.REST, server.endpoint(), ServerDialect.MLSERVER, BinaryTensorData.FALSE, true);
    }

    Http1Client http1() throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    ManagedChannel channel() {
        return channel;
    }

    void awaitRequests(String outcome, int count) {
        await().atMost(PATIENCE)
                .until(() -> gateway.meters().get("isthmus.shadow.requests").tag("outcome", outcome).counters().stream()
                                .mapToDouble(counter -> counter.count())
                                .sum()
                        == count);
    }

    void awaitComparisons(String outcome, int count) {
        await().atMost(PATIENCE)
                .until(() -> gateway.meters()
                                .get("isthmus.shadow.comparisons")
                                .tag("outcome", outcome)
                                .counter()
                                .count()
                        == count);
    }

    double worstDifference() {
        return gateway.shadows().reports().get(0).worstDifference();
    }

    @Override
    public void close() {
        channel.shutdownNow();
        await().atMost(PATIENCE).until(channel::isTerminated);
        gateway.close();
    }
}

package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.Http2Abuse;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ManagementAccess;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ResponseConfig;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The data plane on a free loopback port, in front of the servers of a test, and its clients. */
final class Stage implements AutoCloseable {
    private static final HeaderAllowList PASSED =
            HeaderAllowList.of(List.of("x-request-id", "x-flow-*", "retry-after"));
    /** With the servers' error messages, which most tests check. */
    static final ResponseConfig RESPONSES =
            TestConfigs.with(DefaultValues.of(ResponseConfig.class), Map.of("errors", GatewayConfig.ErrorTexts.PASSED));

    /** A free loopback port, where everything is served. */
    static final Listener MANAGED =
            TestConfigs.with(Listener.DEFAULT.at("127.0.0.1", 0), Map.of("management", ManagementAccess.ALLOW));

    /** Limit of every body and message. */
    static final int LIMIT = 4 << 20;

    private final ProxyServer proxy;
    private final ManagedChannel channel;

    Stage(Map<String, UpstreamConfig> upstreams, Map<String, String> models, @Nullable String fallback)
            throws Exception {
        this(upstreams, configs(models), fallback, GatewayConfig.LOCAL.equals(fallback));
    }

    /** @param local whether the embedded models are served */
    Stage(
            Map<String, UpstreamConfig> upstreams,
            Map<String, ModelConfig> models,
            @Nullable String fallback,
            boolean local)
            throws Exception {
        this(config(upstreams, models, DefaultValues.of(GatewayConfig.HealthConfig.class), fallback, local));
    }

    private Stage(GatewayConfig config) throws Exception {
        this(config, ControlPlane.NONE);
    }

    private Stage(GatewayConfig config, ControlPlane.Factory control) throws Exception {
        proxy = ProxyServer.start(config, BufferAllocators.shared(), control);
        channel = NettyChannelBuilder.forAddress("127.0.0.1", port())
                .usePlaintext()
                .directExecutor()
                .maxInboundMessageSize(64 << 20)
                .build();
    }

    /** With models of several upstreams. */
    static GatewayConfig config(
            Map<String, UpstreamConfig> upstreams,
            Map<String, ModelConfig> models,
            GatewayConfig.HealthConfig health,
            @Nullable String fallback,
            boolean local) {
        Map<String, Object> changes = new HashMap<>();
        changes.put("listeners", List.of(MANAGED));
        changes.put(
                "limits",
                new GatewayConfig.Limits(
                        LIMIT, 64 << 10, 8 << 20, 100, 100, 10_000, 0.5, 4096, 5, DefaultValues.of(Http2Abuse.class)));
        changes.put("headers", new GatewayConfig.Headers(PASSED, PASSED));
        changes.put("answers", RESPONSES);
        changes.put("health", health);
        changes.put("upstreams", upstreams);
        changes.put("local", local ? LocalConfig.EMBEDDED : null);
        changes.put("models", models);
        changes.put("defaultUpstream", fallback);
        return TestConfigs.with(GatewayConfig.DEFAULT, changes);
    }

    /** With models of several upstreams. */
    static Stage fleet(
            Map<String, UpstreamConfig> upstreams,
            Map<String, ModelConfig> models,
            GatewayConfig.HealthConfig health,
            @Nullable String fallback)
            throws Exception {
        return new Stage(config(upstreams, models, health, fallback, GatewayConfig.LOCAL.equals(fallback)));
    }

    /** With models of several upstreams, and bodies and messages of up to this many bytes. */
    static Stage taking(int bytes, Map<String, UpstreamConfig> upstreams, Map<String, ModelConfig> models)
            throws Exception {
        GatewayConfig base = config(upstreams, models, DefaultValues.of(GatewayConfig.HealthConfig.class), null, false);
        GatewayConfig.Limits limits = TestConfigs.with(base.limits(), Map.of("maxBodySize", bytes));
        return new Stage(TestConfigs.with(base, Map.of("limits", limits)));
    }

    /** With the model {@code m} of one upstream, {@code server}, and bodies and messages of up to this many bytes. */
    static Stage taking(int bytes, UpstreamConfig server) throws Exception {
        return taking(bytes, Map.of("server", server), Map.of("m", ModelConfig.of("server")));
    }

    /** Listens as configured by a record. */
    static Stage with(GatewayConfig config) throws Exception {
        return new Stage(config);
    }

    /** As configured by a record, with a control plane. */
    static Stage with(GatewayConfig config, ControlPlane.Factory control) throws Exception {
        return new Stage(config, control);
    }

    /** Reloads with these limits. */
    Stage limiting(Map<String, ?> limits) throws Exception {
        GatewayConfig config = proxy.config();
        proxy.reload(TestConfigs.with(config, Map.of("limits", TestConfigs.with(config.limits(), limits))));
        return this;
    }

    static Map<String, ModelConfig> configs(Map<String, String> models) {
        Map<String, ModelConfig> configs = new HashMap<>();
        models.forEach((name, upstream) -> configs.put(name, ModelConfig.of(upstream)));
        return configs;
    }

    /** Routes everything to one server. */
    static Stage of(UpstreamConfig upstream) throws Exception {
        return new Stage(Map.of("server", upstream), Map.of(), "server");
    }

    /** Routes everything to one server, from this port. */
    static Stage at(int port, UpstreamConfig upstream) throws Exception {
        GatewayConfig config = config(
                Map.of("server", upstream),
                Map.of(),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                "server",
                false);
        return new Stage(config.withListener(MANAGED.at("127.0.0.1", port)));
    }

    /** Routes everything to the embedded models. */
    static Stage local() throws Exception {
        return new Stage(Map.of(), Map.of(), GatewayConfig.LOCAL);
    }

    /** Routes everything to the models of a repository. */
    static Stage local(LocalConfig local) throws Exception {
        return new Stage(config(local));
    }

    /** Routes everything to the models of a repository. */
    static GatewayConfig config(LocalConfig local) {
        GatewayConfig embedded = config(
                Map.of(), Map.of(), DefaultValues.of(GatewayConfig.HealthConfig.class), GatewayConfig.LOCAL, true);
        return TestConfigs.with(embedded, Map.of("local", local));
    }

    static UpstreamConfig grpc(FakeGrpcServer server, ServerDialect dialect) {
        return upstream(UpstreamProtocol.GRPC, server.endpoint(), dialect, BinaryTensorData.FALSE, false);
    }

    static UpstreamConfig grpc(PartsServer server, ServerDialect dialect) {
        return upstream(UpstreamProtocol.GRPC, server.endpoint(), dialect, BinaryTensorData.FALSE, false);
    }

    static UpstreamConfig rest(FakeRestServer server, ServerDialect dialect) {
        return upstream(UpstreamProtocol.REST, server.endpoint(), dialect, BinaryTensorData.FALSE, false);
    }

    static UpstreamConfig upstream(
            UpstreamProtocol protocol,
            Endpoint endpoint,
            ServerDialect dialect,
            BinaryTensorData binary,
            boolean sharedMemory) {
        return TestConfigs.with(
                TestConfigs.upstream(protocol, endpoint),
                Map.of("dialect", dialect, "binaryTensorData", binary, "sharedMemory", sharedMemory));
    }

    ProxyServer proxy() {
        return proxy;
    }

    int port() {
        return proxy.addresses().get(0).getPort();
    }

    /** A client with one connection. */
    ManagedChannel channel() {
        return channel;
    }

    Http1Client http1() throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    /** The next request with a body that a server received; skips the gateway's own requests. */
    static FakeRestServer.RestRequest posted(FakeRestServer server) throws InterruptedException {
        FakeRestServer.RestRequest seen = server.request();
        while (!seen.head().startsWith("POST") || seen.head().startsWith("POST /v2/repository/index ")) {
            seen = server.request();
        }
        return seen;
    }

    @Override
    public void close() {
        channel.shutdownNow();
        await().atMost(Duration.ofSeconds(10)).until(channel::isTerminated);
        proxy.close();
    }
}

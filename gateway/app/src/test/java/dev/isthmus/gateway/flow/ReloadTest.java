package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.LayerFactory;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Limits;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.Http2Abuse;
import dev.isthmus.gateway.settings.LayersConfig;
import dev.isthmus.gateway.settings.LayersConfig.AddedLayer;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeV2Server;
import dev.isthmus.proto.health.HealthCheckRequest;
import dev.isthmus.proto.health.HealthCheckResponse;
import dev.isthmus.proto.health.HealthCheckResponse.ServingStatus;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reloads while calls are in flight. Each server responds with a number of its own. */
@Timeout(120)
class ReloadTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final Listener ANY = Listener.DEFAULT.at("127.0.0.1", 0);
    private static final int RELOADS = 20;
    private static final int CALLS_BETWEEN = 20;

    /** Responds to each message with one number; a stream continues until its client ends it. */
    private record Numbered(int number) implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            call.sendMessage(Infer.responseTo(Infer.request(message), number).toByteArray());
        }
    }

    private static GatewayConfig to(UpstreamConfig upstream) {
        return TestConfigs.with(
                GatewayConfig.embedded().withListener(ANY),
                Map.of("upstreams", Map.of("server", upstream), "models", Map.of("m", ModelConfig.of("server"))));
    }

    private static GatewayConfig limited(GatewayConfig config, Limits limits) {
        return TestConfigs.with(config, Map.of("limits", limits));
    }

    private static GatewayConfig to(FakeGrpcServer server) {
        return to(Stage.grpc(server, ServerDialect.MLSERVER));
    }

    private static int port(Gateway gateway) {
        return gateway.addresses().get(0).getPort();
    }

    private static Http1Client connect(int port) throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    private static ManagedChannel channel(Gateway gateway) {
        return NettyChannelBuilder.forAddress("127.0.0.1", port(gateway))
                .usePlaintext()
                .directExecutor()
                .build();
    }

    private static void close(ManagedChannel channel) {
        channel.shutdownNow();
        await().atMost(Duration.ofSeconds(10)).until(channel::isTerminated);
    }

    private static void apply(Gateway gateway, GatewayConfig config) {
        assertThat(gateway.reload(config)).isInstanceOf(ReloadResult.Applied.class);
    }

    @Test
    void reloads_underLoad_loseNothing() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger calls = new AtomicInteger();
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                FakeGrpcServer two = new FakeGrpcServer(new Numbered(2));
                Gateway gateway = Gateway.start(to(one));
                ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            ManagedChannel channel = channel(gateway);
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                running.add(clients.submit(() -> askRest(port(gateway), stop, calls)));
                running.add(clients.submit(() -> askGrpc(channel, stop, calls)));
            }
            for (int i = 1; i <= RELOADS; i++) {
                int before = calls.get();
                await().pollInterval(Duration.ofMillis(2))
                        .until(() -> calls.get() >= before + CALLS_BETWEEN
                                || running.stream().anyMatch(Future::isDone));
                apply(
                        gateway,
                        i % 2 == 0
                                ? to(one)
                                : limited(
                                        to(two),
                                        new Limits(
                                                1 << 20,
                                                64 << 10,
                                                8 << 20,
                                                100,
                                                50,
                                                100,
                                                0.5,
                                                4096,
                                                5,
                                                DefaultValues.of(Http2Abuse.class))));
            }
            stop.set(true);
            for (Future<?> each : running) {
                each.get(20, TimeUnit.SECONDS);
            }
            close(channel);
        }
        assertThat(calls.get()).isGreaterThanOrEqualTo(RELOADS * CALLS_BETWEEN);
    }

    private static Void askRest(int port, AtomicBoolean stop, AtomicInteger calls) throws IOException {
        try (Http1Client client = connect(port)) {
            while (!stop.get()) {
                Http1Client.Response response =
                        client.post(PATH, Infer.json("a", 5)).response();
                assertThat(response.status()).as(response.text()).isEqualTo(200);
                calls.incrementAndGet();
            }
            return null;
        }
    }

    private static Void askGrpc(ManagedChannel channel, AtomicBoolean stop, AtomicInteger calls) throws Exception {
        byte[] request = Infer.request("m", "a", 5).toByteArray();
        while (!stop.get()) {
            GrpcClient client = GrpcClient.ask(channel, "ModelInfer", new Metadata(), request);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(Infer.value(Infer.response(client.response()))).isBetween(1, 2);
            calls.incrementAndGet();
        }
        return null;
    }

    @Test
    void watchOfHealth_isOfTheConfigurationInEffect() throws Exception {
        MethodDescriptor<HealthCheckRequest, HealthCheckResponse> watch =
                MethodDescriptor.<HealthCheckRequest, HealthCheckResponse>newBuilder()
                        .setFullMethodName("grpc.health.v1.Health/Watch")
                        .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
                        .setRequestMarshaller(ProtoUtils.marshaller(HealthCheckRequest.getDefaultInstance()))
                        .setResponseMarshaller(ProtoUtils.marshaller(HealthCheckResponse.getDefaultInstance()))
                        .build();
        try (FakeGrpcServer server = new FakeGrpcServer(new Numbered(1));
                Gateway gateway = Gateway.start(TestConfigs.with(to(server), Map.of("models", Map.of())))) {
            ManagedChannel channel = channel(gateway);
            Iterator<HealthCheckResponse> states = ClientCalls.blockingServerStreamingCall(
                    channel,
                    watch,
                    CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS),
                    HealthCheckRequest.newBuilder().setService("m").build());
            assertThat(states.next().getStatus()).isEqualTo(ServingStatus.SERVICE_UNKNOWN);
            apply(gateway, to(server));
            assertThat(states.next().getStatus()).isNotEqualTo(ServingStatus.SERVICE_UNKNOWN);
            close(channel);
        }
    }

    @Test
    void stream_underWay_goesOnWhereItBegan() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                FakeGrpcServer two = new FakeGrpcServer(new Numbered(2));
                Gateway gateway = Gateway.start(to(one))) {
            ManagedChannel channel = channel(gateway);
            GrpcClient stream = GrpcClient.open(channel, "ModelStreamInfer");
            byte[] request = Infer.request("m", "a", 5).toByteArray();
            stream.send(request);
            assertThat(Infer.value(Infer.envelope(stream.response()).getInferResponse()))
                    .isEqualTo(1);

            apply(gateway, to(two));
            stream.send(request);
            assertThat(Infer.value(Infer.envelope(stream.response()).getInferResponse()))
                    .isEqualTo(1);
            GrpcClient fresh = GrpcClient.ask(channel, "ModelInfer", new Metadata(), request);
            assertThat(Infer.value(Infer.response(fresh.response()))).isEqualTo(2);

            stream.end();
            assertThat(stream.status().getCode()).isEqualTo(Status.Code.OK);
            close(channel);
        }
    }

    @Test
    void removedUpstream_completesItsCall_andIsClosedAfterIt() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        FakeRestServer.Script script = (request, out) -> {
            if (request.head().startsWith("POST")) {
                try {
                    held.await();
                } catch (InterruptedException e) {
                    return false;
                }
            }
            FakeRestServer.write(out, FakeRestServer.ok(Infer.responseJson("m", "a", 1)));
            return true;
        };
        try (FakeRestServer one = FakeRestServer.that(script);
                FakeGrpcServer two = new FakeGrpcServer(new Numbered(2));
                Gateway gateway = Gateway.start(to(Stage.rest(one, ServerDialect.MLSERVER)));
                Http1Client waiting = connect(port(gateway));
                Http1Client fresh = connect(port(gateway))) {
            waiting.post(PATH, Infer.json("a", 5));
            Stage.posted(one);
            apply(gateway, to(two));
            assertThat(fresh.post(PATH, Infer.json("b", 5)).response().text()).contains("[2]");

            held.countDown();
            assertThat(waiting.response().text()).contains("[1]");
            one.awaitConnectionClosed();
        }
    }

    @Test
    void listeners_areAddedAndRemoved_andConnectionsGoOn() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                Gateway gateway = Gateway.start(to(one));
                Http1Client client = connect(port(gateway))) {
            int first = port(gateway);
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            apply(gateway, listening(to(one), ANY, ANY));
            assertThat(gateway.addresses()).hasSize(2);
            assertThat(port(gateway)).isEqualTo(first);
            try (Http1Client other = connect(gateway.addresses().get(1).getPort())) {
                assertThat(other.get("/v2/health/live").response().status()).isEqualTo(200);
            }

            apply(gateway, listening(to(one), Listener.DEFAULT.at("127.0.0.2", 0)));
            assertThat(gateway.addresses())
                    .singleElement()
                    .satisfies(address -> assertThat(address.getHostString()).isEqualTo("127.0.0.2"));
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            assertThatThrownBy(() -> connect(first)).isInstanceOf(ConnectException.class);
        }
    }

    private static GatewayConfig listening(GatewayConfig config, Listener... listeners) {
        return TestConfigs.with(config, Map.of("listeners", List.of(listeners)));
    }

    @Test
    void addressThatIsTaken_isRefused_andNothingChanges() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                FakeGrpcServer two = new FakeGrpcServer(new Numbered(2));
                ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Gateway gateway = Gateway.start(to(one));
                Http1Client client = connect(port(gateway))) {
            Listener occupied = Listener.DEFAULT.at("127.0.0.1", taken.getLocalPort());
            assertThat(gateway.reload(listening(to(two), ANY, occupied)))
                    .isInstanceOfSatisfying(ReloadResult.Rejected.class, rejected -> {
                        assertThat(rejected.invalid()).isFalse();
                        assertThat(rejected.problems())
                                .singleElement()
                                .asString()
                                .contains("listener: 127.0.0.1:" + taken.getLocalPort() + " is in use");
                    });
            assertThat(gateway.addresses()).hasSize(1);
            assertThat(client.post(PATH, Infer.json("b", 5)).response().text()).contains("[1]");
        }
    }

    /** A layer that a jar brings may refuse its settings. */
    private record Refusing(@Nullable Error error) implements LayerFactory {
        @Override
        public Layer layer(String name, MeterRegistry meters) {
            if (error != null) {
                throw error;
            }
            throw new IllegalStateException("no licence");
        }
    }

    /** A layer with a fault. */
    private record Nameless() implements LayerFactory {
        @Override
        public Layer layer(String name, MeterRegistry meters) {
            return () -> {
                throw new AssertionError("no name");
            };
        }
    }

    private static GatewayConfig with(GatewayConfig config, LayerFactory layer) {
        AddedLayer added = new AddedLayer("mine", BuiltInLayer.ROUTING, null, layer);
        return TestConfigs.with(config, Map.of("layers", new LayersConfig(null, List.of(added))));
    }

    private static GatewayConfig cached(GatewayConfig config, int maxRequests, Duration ttl) {
        ModelConfig model = TestConfigs.with(
                ModelConfig.of("server"), Map.of("cache", TestConfigs.with(CacheConfig.DEFAULT, Map.of("ttl", ttl))));
        return limited(
                TestConfigs.with(config, Map.of("models", Map.of("m", model))),
                TestConfigs.with(config.limits(), Map.of("maxRequests", maxRequests)));
    }

    /** What a configuration has taken over from the one in effect, or made in its place, ends with it. */
    @Test
    void configurationThatIsRejectedAtLast_changesNothing(@TempDir Path folder) throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                Gateway gateway = Gateway.start(cached(to(one), 5, Duration.ofHours(1)));
                Http1Client client = connect(port(gateway))) {
            assertThat(client.post(PATH, Infer.json("b", 5)).response().header("cache-status"))
                    .contains("stored");
            Listener nowhere = Listener.unix(folder.resolve("none").resolve("socket"));
            for (GatewayConfig next : List.of(gateway.config(), cached(gateway.config(), 6, Duration.ofHours(2)))) {
                for (GatewayConfig rejected : List.of(listening(next, ANY, nowhere), with(next, new Refusing(null)))) {
                    assertThat(gateway.reload(rejected)).isInstanceOf(ReloadResult.Rejected.class);
                    assertThat(client.post(PATH, Infer.json("b", 5)).response().header("cache-status"))
                            .contains("hit");
                    MeterRegistry meters = gateway.meters();
                    assertThat(meters.get("isthmus.requests.limit").gauge().value())
                            .isEqualTo(5);
                    assertThat(meters.get("isthmus.cache.entries").gauge().value())
                            .isEqualTo(1);
                    assertThat(meters.find("isthmus.target.requests")
                                    .tag("model", "m")
                                    .tag("outcome", "ok")
                                    .counters())
                            .hasSize(1);
                }
            }
        }
    }

    /** Of Java, such as a failed assertion. */
    @Test
    void errorOfALayer_rejectsTheConfiguration() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(ANY);
        try (Gateway gateway = Gateway.start(config)) {
            assertThat(gateway.reload(with(config, new Refusing(new AssertionError("no licence")))))
                    .isInstanceOfSatisfying(
                            ReloadResult.Rejected.class,
                            rejected -> assertThat(rejected.problems())
                                    .containsExactly("the layer 'mine' cannot be created: no licence"));
        }
    }

    @Test
    void errorInAReload_leavesNothingOfTheConfiguration() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                Gateway gateway = Gateway.start(GatewayConfig.embedded().withListener(ANY))) {
            assertThatThrownBy(() -> gateway.reload(with(to(one), new Nameless())))
                    .isInstanceOf(AssertionError.class);
            assertThat(gateway.meters().find("isthmus.upstream.endpoints").gauge())
                    .isNull();
        }
    }

    /** Otherwise a process that cannot start would not end. */
    @Test
    void errorAtTheStart_leavesNoEventLoop() {
        Set<Thread> before = eventLoops();
        assertThatThrownBy(() -> Gateway.start(with(GatewayConfig.embedded().withListener(ANY), new Nameless())))
                .isInstanceOf(AssertionError.class);
        await().atMost(Duration.ofSeconds(20)).until(() -> before.containsAll(eventLoops()));
    }

    private static Set<Thread> eventLoops() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().startsWith("isthmus-loop"))
                .collect(Collectors.toSet());
    }

    /** It was there when the configuration was read; half of that would be in effect if its last step failed. */
    @Test
    void authorityOfThePayloadLogThatHasGone_rejectsNothing(@TempDir Path folder) throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(ANY);
        PayloadLogConfig log = TestConfigs.with(
                DefaultValues.of(PayloadLogConfig.class),
                Map.of("url", "https://127.0.0.1:1/", "ca", folder.resolve("none")));
        try (Gateway gateway = Gateway.start(config)) {
            apply(gateway, listening(TestConfigs.with(config, Map.of("payloadLog", log)), ANY, ANY));
            try (Http1Client client = connect(gateway.addresses().getLast().getPort())) {
                assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            }
        }
    }

    @Test
    void limits_holdForTheNextRequestOfAConnection() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Numbered(1));
                Gateway gateway = Gateway.start(to(one));
                Http1Client client = connect(port(gateway))) {
            assertThat(client.post(PATH, Infer.json("b", 5)).response().status())
                    .isEqualTo(200);
            apply(
                    gateway,
                    limited(
                            to(one),
                            new Limits(
                                    50,
                                    64 << 10,
                                    8 << 20,
                                    100,
                                    100,
                                    100,
                                    0.5,
                                    4096,
                                    5,
                                    DefaultValues.of(Http2Abuse.class))));
            assertThat(client.post(PATH, Infer.json("b", 5)).response().status())
                    .isEqualTo(413);
        }
    }

    @Test
    void readiness_outlivesAReload() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(ANY);
        try (Gateway gateway = Gateway.start(config)) {
            await().atMost(Duration.ofSeconds(20)).until(gateway::ready);
            for (int i = 1; i <= 5; i++) {
                apply(
                        gateway,
                        limited(
                                config,
                                new Limits(
                                        1 << 20,
                                        64 << 10,
                                        8 << 20,
                                        100,
                                        i,
                                        100,
                                        0.5,
                                        4096,
                                        5,
                                        DefaultValues.of(Http2Abuse.class))));
                assertThat(gateway.ready()).isTrue();
            }
        }
    }

    /** Each model is asked for twice at most when its servers become ready. */
    @Test
    void modelsThatStay_areNotAskedForAgain_othersAre() throws Exception {
        try (FakeV2Server one = FakeV2Server.grpc()
                        .with("stays", "FP32")
                        .with("moves", "FP32")
                        .with("goes", "FP32");
                FakeV2Server two = FakeV2Server.grpc()
                        .with("stays", "INT8")
                        .with("moves", "INT8")
                        .with("goes", "INT8");
                Gateway gateway = Gateway.start(
                        to(Map.of("a", one, "b", two), Map.of("stays", "a", "moves", "a", "goes", "a")))) {
            Map<String, String> models = new HashMap<>(Map.of("stays", "a", "moves", "b"));
            await().until(() -> metadata(gateway, "moves").contains("FP32"));
            for (int i = 0; i < RELOADS; i++) {
                String added = "z" + i;
                one.with(added, "FP32");
                models.put(added, "a");
                apply(gateway, to(Map.of("a", one, "b", two), models));
                await().until(() -> one.calls("ModelMetadata " + added) > 0);
                assertThat(metadata(gateway, "moves")).contains("INT8");
                assertThat(metadata(gateway, "goes")).contains("unknown model 'goes'");
            }
            assertThat(gateway.meters()
                            .get("isthmus.model.ready")
                            .tag("model", "stays")
                            .gauge()
                            .value())
                    .isEqualTo(1);
            assertThat(gateway.meters()
                            .find("isthmus.model.ready")
                            .tag("model", "goes")
                            .gauge())
                    .isNull();
            assertThat(one.calls("ModelMetadata stays")).isBetween(1, RELOADS / 2);
            assertThat(two.calls("ModelMetadata moves")).isBetween(1, RELOADS / 2);

            apply(gateway, to(Map.of("a", two, "b", two), models));
            assertThat(metadata(gateway, "stays")).contains("INT8");
        }
    }

    @Test
    void failuresAtAnUpstreamThatIsRemoved_areShownNoMore() throws Exception {
        try (FakeV2Server stays = FakeV2Server.grpc().with("one", "FP32");
                Gateway gateway = Gateway.start(to(Map.of("stays", stays), Map.of("one", "stays")));
                Http1Client client = connect(port(gateway))) {
            try (FakeV2Server goes = FakeV2Server.grpc().with("two", "FP32")) {
                apply(gateway, to(Map.of("stays", stays, "goes", goes), Map.of("one", "stays", "two", "goes")));
                await().until(() -> metadata(gateway, "two").contains("FP32"));
            }
            await().until(() -> {
                client.post("/v2/repository/index", "{}").response();
                return failures(gateway, "goes") > 0;
            });

            apply(gateway, to(Map.of("stays", stays), Map.of("one", "stays")));

            assertThat(failures(gateway, "goes")).isZero();
        }
    }

    private static int failures(Gateway gateway, String upstream) {
        return gateway.meters()
                .find("isthmus.catalogue.failures")
                .tag("upstream", upstream)
                .counters()
                .size();
    }

    private static GatewayConfig to(Map<String, FakeV2Server> upstreams, Map<String, String> models) {
        Map<String, UpstreamConfig> servers = new HashMap<>();
        upstreams.forEach(
                (name, server) -> servers.put(name, TestConfigs.upstream(server.protocol(), server.endpoint())));
        return TestConfigs.with(
                GatewayConfig.embedded().withListener(ANY),
                Map.of("upstreams", servers, "models", Stage.configs(models)));
    }

    private static String metadata(Gateway gateway, String model) throws IOException {
        try (Http1Client client = connect(port(gateway))) {
            return client.get("/v2/models/" + model).response().text();
        }
    }

    @Test
    void sameConfiguration_isNoNewGeneration() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(ANY);
        try (Gateway gateway = Gateway.start(config)) {
            assertThat(gateway.reload(config)).isEqualTo(new ReloadResult.Applied(1, List.of(), List.of()));
        }
    }

    @Test
    void anotherAdminAddress_isNotedAndLeft() throws Exception {
        GatewayConfig config = GatewayConfig.embedded().withListener(ANY);
        try (Gateway gateway = Gateway.start(config)) {
            assertThat(gateway.reload(config.withAdmin(AdminConfig.DEFAULT)))
                    .isInstanceOfSatisfying(
                            ReloadResult.Applied.class,
                            applied -> assertThat(applied.warnings()).hasSize(1));
            assertThat(gateway.adminAddress()).isEmpty();
        }
    }

    @Test
    void withoutASource_nothingIsReloaded() throws Exception {
        try (Gateway gateway = Gateway.start(GatewayConfig.embedded().withListener(ANY))) {
            assertThat(gateway.reload()).isInstanceOf(ReloadResult.Rejected.class);
        }
    }
}

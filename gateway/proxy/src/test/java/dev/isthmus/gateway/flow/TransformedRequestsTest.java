package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.LayerFactory;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.LayersConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Layers that are added to the gateway's own, and change requests, between real clients and servers. */
class TransformedRequestsTest {
    private static final String PATH = "/v2/models/m/infer";

    private final List<AutoCloseable> open = new ArrayList<>();
    private final AtomicInteger closed = new AtomicInteger();
    /** The inferences that reached a server. */
    private final BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    /** What a layer makes of a request. */
    @FunctionalInterface
    private interface Change {
        CompletableFuture<InferRequest> of(InferRequest request);
    }

    /** A layer as a jar would bring it. */
    private record Changing(Change change, boolean applies, AtomicInteger closed) implements LayerFactory {
        @Override
        public Layer layer(String name, MeterRegistry meters) {
            return new Layer() {
                @Override
                public String name() {
                    return name;
                }

                @Override
                public boolean transforms(Exchange x) {
                    return applies;
                }

                @Override
                public CompletableFuture<InferRequest> transform(Exchange x, InferRequest request) {
                    return change.of(request);
                }

                @Override
                public void close() {
                    closed.incrementAndGet();
                }
            };
        }
    }

    /** A layer whose jar lacks what it needs at its end. */
    private record Unclosable(AtomicInteger closed) implements LayerFactory {
        @Override
        public Layer layer(String name, MeterRegistry meters) {
            return new Layer() {
                @Override
                public String name() {
                    return name;
                }

                @Override
                public void close() {
                    closed.incrementAndGet();
                    throw new NoClassDefFoundError("other/Library");
                }
            };
        }
    }

    private static InferRequest with(InferRequest request, Shape shape, ByteBuf data) {
        Tensor input = request.inputs().getFirst();
        return new InferRequest(
                request.model(),
                request.id(),
                request.parameters(),
                List.of(new Tensor(input.name(), input.dataType(), shape, input.parameters(), data)),
                request.outputs());
    }

    /** The request with its number and this one added. */
    private static InferRequest plus(InferRequest request, int more) {
        int value = request.inputs()
                .getFirst()
                .data()
                .getIntLE(request.inputs().getFirst().data().readerIndex());
        return with(request, Shape.of(1), Unpooled.buffer(Integer.BYTES).writeIntLE(value + more));
    }

    private static CompletableFuture<InferRequest> done(InferRequest request) {
        return CompletableFuture.completedFuture(request);
    }

    private LayersConfig.AddedLayer layer(String name, Change change) {
        return new LayersConfig.AddedLayer(name, null, BuiltInLayer.SHADOWS, new Changing(change, true, closed));
    }

    private Stage stage(Map<String, UpstreamConfig> servers, ModelConfig model, LayersConfig.AddedLayer... layers)
            throws Exception {
        GatewayConfig base = Stage.config(
                servers, Map.of("m", model), DefaultValues.of(GatewayConfig.HealthConfig.class), null, false);
        Stage stage = Stage.with(TestConfigs.with(base, Map.of("layers", new LayersConfig(null, List.of(layers)))));
        open.add(stage);
        return stage;
    }

    private Stage stage(UpstreamConfig server, LayersConfig.AddedLayer... layers) throws Exception {
        return stage(Map.of("server", server), ModelConfig.of("server"), layers);
    }

    /** Responds with the number of the request, in a stream, too. */
    private FakeGrpcServer echo(BlockingQueue<byte[]> received) throws Exception {
        FakeGrpcServer server = new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                received.add(message);
                ModelInferRequest request = Infer.request(message);
                ModelInferResponse response = Infer.responseTo(request, Infer.value(request));
                boolean stream = call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer");
                call.sendMessage(stream ? Infer.enveloped(response) : response.toByteArray());
            }
        });
        open.add(server);
        return server;
    }

    private FakeGrpcServer echo() throws Exception {
        return echo(received);
    }

    private static Http1Client.Response post(Stage stage, int value) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(PATH, Infer.json("a", value)).response();
        }
    }

    private static GrpcClient call(Stage stage, ModelInferRequest request) {
        GrpcClient client = GrpcClient.open(stage.channel(), "ModelInfer", new Metadata(), CallOptions.DEFAULT, 10);
        client.send(request.toByteArray());
        client.end();
        return client;
    }

    private double faults(Stage stage, String layer) {
        return stage.proxy()
                .meters()
                .get("isthmus.layer.faults")
                .tag("layer", layer)
                .counter()
                .count();
    }

    @ParameterizedTest
    @EnumSource(
            value = ServerDialect.class,
            names = {"GENERIC", "TRITON", "MLSERVER"})
    void request_isChangedOnceByEachLayer_inTheirOrder(ServerDialect dialect) throws Exception {
        Stage stage = stage(
                Stage.grpc(echo(), dialect),
                layer("ten", request -> done(plus(request, 10))),
                layer("same", TransformedRequestsTest::done),
                layer("double", request -> done(plus(request, 100))));
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 111));
        GrpcClient raw = call(stage, Infer.request("m", "b", 2));
        assertThat(Infer.value(Infer.response(raw.response()))).isEqualTo(112);
        ModelInferRequest typed = Infer.request("m", "c", 3).toBuilder()
                .clearRawInputContents()
                .setInputs(
                        0,
                        Infer.request("m", "c", 3).getInputs(0).toBuilder()
                                .setContents(InferTensorContents.newBuilder().addIntContents(3)))
                .build();
        ModelInferResponse response = Infer.response(call(stage, typed).response());
        // As without a layer: what gets raw contents only, returns raw contents only.
        if (dialect == ServerDialect.TRITON) {
            assertThat(Infer.value(response)).isEqualTo(113);
        } else {
            assertThat(response.getOutputs(0).getContents().getIntContentsList())
                    .containsExactly(113);
        }
        assertThat(received).hasSize(3);
    }

    @ParameterizedTest
    @EnumSource(
            value = ServerDialect.class,
            names = {"GENERIC", "TRITON", "MLSERVER"})
    void request_toARestServer_isChanged(ServerDialect dialect) throws Exception {
        BlockingQueue<String> bodies = new LinkedBlockingQueue<>();
        FakeRestServer server = FakeRestServer.that((request, out) -> {
            bodies.add(request.body());
            FakeRestServer.write(out, FakeRestServer.ok(Infer.responseJson("m", "a", 5)));
            return true;
        });
        open.add(server);
        Stage stage = stage(Stage.rest(server, dialect), layer("ten", request -> done(plus(request, 10))));
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 5));
        assertThat(Infer.value(
                        Infer.response(call(stage, Infer.request("m", "a", 2)).response())))
                .isEqualTo(5);
        List<String> inferences = new ArrayList<>(bodies);
        inferences.removeIf(body -> !body.contains("INPUT0"));
        assertThat(inferences).hasSize(2);
        assertThat(inferences.get(0)).contains("[11]");
        assertThat(inferences.get(1)).contains("[12]");
    }

    @Test
    void layerThatDoesNotApply_leavesRequestsAsTheyAre() throws Exception {
        Stage stage = stage(
                Stage.grpc(echo(), ServerDialect.GENERIC),
                new LayersConfig.AddedLayer(
                        "never",
                        BuiltInLayer.ROUTING,
                        null,
                        new Changing(request -> done(plus(request, 1)), false, closed)));
        ModelInferRequest request = Infer.request("m", "a", 1);
        assertThat(Infer.value(Infer.response(call(stage, request).response()))).isEqualTo(1);
        assertThat(received.take()).isEqualTo(request.toByteArray());
    }

    @Test
    void layer_mayDecideLater_onAnyThread() throws Exception {
        Stage stage = stage(
                Stage.grpc(echo(), ServerDialect.GENERIC),
                layer("later", request -> CompletableFuture.supplyAsync(() -> plus(request, 10))));
        for (int i = 0; i < 50; i++) {
            assertThat(post(stage, i).text()).isEqualTo(Infer.responseJson("m", "a", i + 10));
        }
    }

    /** Messages behind one that waits for a layer wait, too. */
    @Test
    void messagesOfAStream_areChanged_andKeepTheirOrder() throws Exception {
        Stage stage = stage(
                Stage.grpc(echo(), ServerDialect.TRITON),
                layer(
                        "odd",
                        request -> request.id().equals("later")
                                ? CompletableFuture.supplyAsync(() -> plus(request, 10))
                                : done(plus(request, 10))));
        GrpcClient client = GrpcClient.open(
                stage.channel(), "ModelStreamInfer", new Metadata(), CallOptions.DEFAULT, Integer.MAX_VALUE);
        for (int i = 0; i < 40; i++) {
            client.send(Infer.request("m", i % 3 == 0 ? "later" : "now", i).toByteArray());
        }
        client.end();
        for (int i = 0; i < 40; i++) {
            assertThat(Infer.value(Infer.envelope(client.response()).getInferResponse()))
                    .isEqualTo(i + 10);
        }
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void fault_endsItsCallOnly(boolean later) throws Exception {
        Stage stage = stage(Stage.grpc(echo(), ServerDialect.TRITON), layer("faulty", request -> {
            if (!request.id().equals("bad")) {
                return done(plus(request, 10));
            }
            IllegalStateException fault = new IllegalStateException("secret");
            if (later) {
                return CompletableFuture.supplyAsync(() -> {
                    throw fault;
                });
            }
            throw fault;
        }));
        try (Http1Client client = stage.http1()) {
            Http1Client.Response refused =
                    client.post(PATH, Infer.json("bad", 1)).response();
            assertThat(refused.status()).isEqualTo(500);
            assertThat(refused.text()).doesNotContain("secret");
            assertThat(client.post(PATH, Infer.json("a", 1)).response().text())
                    .isEqualTo(Infer.responseJson("m", "a", 11));
        }
        GrpcClient stream = GrpcClient.open(
                stage.channel(), "ModelStreamInfer", new Metadata(), CallOptions.DEFAULT, Integer.MAX_VALUE);
        stream.send(Infer.request("m", "bad", 1).toByteArray());
        stream.send(Infer.request("m", "a", 1).toByteArray());
        stream.end();
        assertThat(Infer.envelope(stream.response()).getErrorMessage()).isEqualTo("internal error");
        assertThat(Infer.value(Infer.envelope(stream.response()).getInferResponse()))
                .isEqualTo(11);
        assertThat(faults(stage, "faulty")).isEqualTo(2);
    }

    @Test
    void layerThatLacksAClass_failsItsCallAlone() throws Exception {
        Stage stage = stage(Stage.grpc(echo(), ServerDialect.GENERIC), layer("incomplete", request -> {
            if (request.id().equals("bad")) {
                throw new NoClassDefFoundError("other/Library");
            }
            return done(plus(request, 10));
        }));
        try (Http1Client client = stage.http1()) {
            assertThat(client.post(PATH, Infer.json("bad", 1)).response().status())
                    .isEqualTo(500);
            assertThat(client.post(PATH, Infer.json("a", 1)).response().text())
                    .isEqualTo(Infer.responseJson("m", "a", 11));
        }
        assertThat(faults(stage, "incomplete")).isEqualTo(1);
    }

    @Test
    void refusal_isTheClients() throws Exception {
        Stage stage = stage(Stage.grpc(echo(), ServerDialect.GENERIC), layer("strict", request -> {
            throw OipException.invalid("input 'INPUT0': a known id is expected");
        }));
        Http1Client.Response refused = post(stage, 1);
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.text()).contains("a known id is expected");
        assertThat(call(stage, Infer.request("m", "a", 1)).status().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(received).isEmpty();
        assertThat(faults(stage, "strict")).isZero();
    }

    /** A server must not get what no client could send. */
    @Test
    void invalidTensor_isAFaultOfTheLayer() throws Exception {
        Stage stage = stage(
                Stage.grpc(echo(), ServerDialect.GENERIC),
                layer(
                        "wrong",
                        request -> done(
                                with(request, Shape.of(3), Unpooled.buffer(4).writeIntLE(1)))),
                layer("never", request -> CompletableFuture.failedFuture(new AssertionError("not reached"))));
        assertThat(post(stage, 1).status()).isEqualTo(500);
        assertThat(faults(stage, "wrong")).isEqualTo(1);
        assertThat(received).isEmpty();
    }

    @Test
    void layerThatTakesTooLong_failsTheCallAtItsDeadline() throws Exception {
        BlockingQueue<CompletableFuture<InferRequest>> undecided = new LinkedBlockingQueue<>();
        BlockingQueue<InferRequest> requests = new LinkedBlockingQueue<>();
        ModelConfig model = TestConfigs.with(ModelConfig.of("server"), Map.of("timeout", Duration.ofMillis(200)));
        Stage stage =
                stage(Map.of("server", Stage.grpc(echo(), ServerDialect.GENERIC)), model, layer("slow", request -> {
                    CompletableFuture<InferRequest> later = new CompletableFuture<>();
                    requests.add(request);
                    undecided.add(later);
                    return later;
                }));
        assertThat(post(stage, 1).status()).isEqualTo(504);
        InferRequest request = requests.take();
        // It is not released before the layer has ended with it.
        undecided.take().complete(plus(request, 1));
        await().until(() -> request.inputs().getFirst().data().refCnt() == 0);
        assertThat(received).isEmpty();
    }

    @Test
    void clientThatGoes_whileALayerWorks_leavesNothing() throws Exception {
        BlockingQueue<CompletableFuture<InferRequest>> undecided = new LinkedBlockingQueue<>();
        BlockingQueue<InferRequest> requests = new LinkedBlockingQueue<>();
        Stage stage = stage(Stage.grpc(echo(), ServerDialect.GENERIC), layer("slow", request -> {
            CompletableFuture<InferRequest> later = new CompletableFuture<>();
            requests.add(request);
            undecided.add(later);
            return later;
        }));
        InferRequest request;
        try (Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 1));
            request = requests.take();
        }
        undecided.take().complete(request);
        await().until(() -> request.inputs().getFirst().data().refCnt() == 0);
        assertThat(received).isEmpty();
    }

    @Test
    void fallback_getsTheChangedRequest() throws Exception {
        FakeGrpcServer failing = FakeGrpcServer.failing(Status.UNAVAILABLE);
        open.add(failing);
        AtomicInteger changes = new AtomicInteger();
        ModelConfig model = TestConfigs.with(
                ModelConfig.of("server"), Map.of("fallback", new ModelConfig.Fallback("other", null, null)));
        Stage stage = stage(
                Map.of(
                        "server", Stage.grpc(failing, ServerDialect.GENERIC),
                        "other", Stage.grpc(echo(), ServerDialect.GENERIC)),
                model,
                layer("ten", request -> {
                    changes.incrementAndGet();
                    return done(plus(request, 10));
                }));
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 11));
        assertThat(changes).hasValue(1);
    }

    @Test
    void copy_getsTheChangedRequest() throws Exception {
        BlockingQueue<byte[]> copies = new LinkedBlockingQueue<>();
        ModelConfig model = TestConfigs.with(
                ModelConfig.of("server"),
                Map.of(
                        "shadow",
                        List.of(TestConfigs.with(
                                DefaultValues.of(ModelConfig.ShadowConfig.class), Map.of("upstream", "shadow")))));
        Stage stage = stage(
                Map.of(
                        "server", Stage.grpc(echo(), ServerDialect.GENERIC),
                        "shadow", Stage.grpc(echo(copies), ServerDialect.GENERIC)),
                model,
                layer("ten", request -> done(plus(request, 10))));
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 11));
        assertThat(Infer.value(Infer.request(copies.take()))).isEqualTo(11);
    }

    @Test
    void reload_closesTheLayersOfTheConfigurationBefore() throws Exception {
        Stage stage =
                stage(Stage.grpc(echo(), ServerDialect.GENERIC), layer("ten", request -> done(plus(request, 10))));
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 11));
        stage.proxy()
                .reload(TestConfigs.with(
                        stage.proxy().config(), Map.of("layers", DefaultValues.of(LayersConfig.class))));
        assertThat(closed).hasValue(1);
        assertThat(post(stage, 1).text()).isEqualTo(Infer.responseJson("m", "a", 1));
    }

    @Test
    void reload_closesAllLayers_thoughOneFails() throws Exception {
        Unclosable failing = new Unclosable(closed);
        Stage stage = stage(
                Stage.grpc(echo(), ServerDialect.GENERIC),
                new LayersConfig.AddedLayer("one", null, BuiltInLayer.SHADOWS, failing),
                new LayersConfig.AddedLayer("two", null, BuiltInLayer.SHADOWS, failing));
        stage.proxy()
                .reload(TestConfigs.with(
                        stage.proxy().config(), Map.of("layers", DefaultValues.of(LayersConfig.class))));
        assertThat(closed).hasValue(2);
    }
}

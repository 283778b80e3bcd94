package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Responses of a cache, between real clients and servers. */
class CachedResponsesTest {
    private static final Metadata.Key<String> STATUS =
            Metadata.Key.of("cache-status", Metadata.ASCII_STRING_MARSHALLER);

    private final List<AutoCloseable> open = new ArrayList<>();
    private final AtomicInteger inferences = new AtomicInteger();

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }

    private UpstreamConfig echo(ServerDialect dialect) throws Exception {
        return Stage.grpc(opened(CachedStage.echo(inferences)), dialect);
    }

    private CachedStage stage(Map<String, ?> cache) throws Exception {
        return opened(CachedStage.of(echo(ServerDialect.TRITON), cache));
    }

    private CachedStage stage() throws Exception {
        return stage(Map.of());
    }

    private static GrpcClient call(Stage stage, ModelInferRequest request) {
        return GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
    }

    private static ModelInferResponse infer(Stage stage, ModelInferRequest request) throws Exception {
        GrpcClient client = call(stage, request);
        assertThat(client.status()).isEqualTo(Status.OK);
        return Infer.response(client.response());
    }

    /** One call of the server for each request, whatever the forms; each client gets what it gets without a cache. */
    @ParameterizedTest
    @EnumSource
    void responses_areThoseOfSingleCalls_inAllForms(ServerKind kind) throws Exception {
        UpstreamConfig server = kind.start(this::echo, open);
        CachedStage cached = opened(CachedStage.of(server, Map.of()));
        Stage plain = opened(new Stage(Map.of("server", server), Map.of("m", "server"), null));
        Random random = new Random(20_261_126);
        for (int i = 0; i < 40; i++) {
            RandomTensors tensors = RandomTensors.of(random);
            List<ClientForm> forms = new ArrayList<>(List.of(ClientForm.values()));
            Collections.shuffle(forms, random);
            int before = inferences.get();
            List<Object> responses = new ArrayList<>();
            for (ClientForm form : forms) {
                responses.add(form.response(cached.stage(), tensors, "id-" + form));
            }
            assertThat(inferences).as("request %s in order %s", i, forms).hasValue(before + 1);
            for (int j = 0; j < forms.size(); j++) {
                ClientForm form = forms.get(j);
                assertThat(responses.get(j))
                        .as("request %s as %s in order %s", i, form, forms)
                        .isEqualTo(form.response(plain, tensors, "id-" + form));
            }
        }
        assertThat(cached.count("hit")).isEqualTo(40 * 3);
        assertThat(cached.count("miss")).isEqualTo(40);
    }

    @Test
    void localModels_areCached_inAllForms() throws Exception {
        Stage base = opened(Stage.local());
        GatewayConfig config = TestConfigs.with(
                base.proxy().config(),
                Map.of(
                        "models",
                        Map.of(
                                "simple",
                                TestConfigs.with(ModelConfig.of("local"), Map.of("cache", CacheConfig.DEFAULT)))));
        Stage stage = opened(Stage.with(config));
        String json = "{\"id\":\"7\",\"inputs\":[" + input("INPUT0") + "," + input("INPUT1") + "]}";
        List<String> responses = new ArrayList<>();
        for (Stage each : List.of(base, stage, stage)) {
            try (Http1Client client = each.http1()) {
                responses.add(
                        client.post("/v2/models/simple/infer", json).response().text());
            }
        }
        assertThat(responses.get(0)).contains("\"id\":\"7\"", "OUTPUT0");
        assertThat(responses.get(1)).isEqualTo(responses.get(0));
        assertThat(responses.get(2)).isEqualTo(responses.get(0));
        assertThat(stage.proxy()
                        .meters()
                        .get("isthmus.cache.requests")
                        .tag("result", "hit")
                        .counter()
                        .count())
                .isEqualTo(1);
    }

    private static String input(String name) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"INT32\",\"shape\":[1,16],\"data\":"
                + "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}";
    }

    @Test
    void headers_sayWhatTheCacheHasDone() throws Exception {
        CachedStage stage = stage();
        String request = Infer.json("a", 1);
        assertThat(stage.post(request).header("cache-status")).isEqualTo("isthmus; fwd=miss; stored");
        assertThat(stage.post(request).header("cache-status")).matches("isthmus; hit; ttl=([1-5]?\\d|60)");
        GrpcClient client = call(stage.stage(), Infer.request("m", "b", 1));
        assertThat(client.status()).isEqualTo(Status.OK);
        assertThat(client.headers().get(STATUS)).startsWith("isthmus; hit");
        byte[] response = client.response();
        assertThat(Infer.response(response).getId()).isEqualTo("b");
        assertThat(UnknownFieldSet.parseFrom(response).getField(3).getLengthDelimitedList())
                .containsExactly(ByteString.copyFromUtf8("b"));
        assertThat(inferences).hasValue(1);
    }

    /** MLServer makes the columns of a data frame in this order. */
    @Test
    void inputsInAnotherOrder_areAnotherRequest() throws Exception {
        CachedStage stage = stage();
        ModelInferRequest request = Infer.request("m", "a", 1);
        ModelInferRequest.InferInputTensor second =
                request.getInputs(0).toBuilder().setName("INPUT1").build();
        infer(
                stage.stage(),
                request.toBuilder()
                        .addInputs(second)
                        .addRawInputContents(request.getRawInputContents(0))
                        .build());
        infer(
                stage.stage(),
                request.toBuilder()
                        .setInputs(0, second)
                        .addInputs(request.getInputs(0))
                        .addRawInputContents(request.getRawInputContents(0))
                        .build());
        assertThat(inferences).hasValue(2);
    }

    @Test
    void serversCacheControl_isRespected_andReturned() throws Exception {
        Metadata headers = new Metadata();
        headers.put(Metadata.Key.of("cache-control", Metadata.ASCII_STRING_MARSHALLER), "private");
        FakeGrpcServer server = opened(CachedStage.server((message, call) -> {
            inferences.incrementAndGet();
            call.sendHeaders(headers);
            call.sendMessage(CachedStage.response(Infer.request(message)).toByteArray());
            call.close(Status.OK, new Metadata());
        }));
        CachedStage stage = opened(CachedStage.of(Stage.grpc(server, ServerDialect.TRITON), Map.of()));
        for (int i = 0; i < 2; i++) {
            Http1Client.Response response = stage.post(Infer.json("a", 1));
            assertThat(response.header("cache-status")).isEqualTo("isthmus; fwd=miss");
            assertThat(response.header("cache-control")).isEqualTo("private");
        }
        assertThat(inferences).hasValue(2);
        assertThat(stage.unstored("private")).isEqualTo(2);
    }

    @Test
    void invalidResponse_isNotSaidToBeStored() throws Exception {
        FakeGrpcServer server = opened(CachedStage.server((message, call) -> {
            inferences.incrementAndGet();
            ModelInferResponse response = CachedStage.response(Infer.request(message));
            FakeGrpcServer.respond(call, withoutContents(response).toByteArray());
        }));
        CachedStage stage = opened(CachedStage.of(Stage.grpc(server, ServerDialect.TRITON), Map.of()));
        for (int i = 0; i < 2; i++) {
            Http1Client.Response response = stage.post(Infer.json("b", 1));
            assertThat(response.status()).isEqualTo(502);
            assertThat(response.header("cache-status")).isEqualTo("isthmus; fwd=miss");
        }
        assertThat(inferences).hasValue(2);
    }

    @Test
    void requestWithoutId_getsAResponseWithoutOne() throws Exception {
        CachedStage stage = stage();
        stage.post(Infer.json("a", 1));
        assertThat(infer(stage.stage(), Infer.request("m", "", 1)).getId()).isEmpty();
        assertThat(stage.post(Infer.json("a", 1).replace("\"id\":\"a\",", "")).text())
                .doesNotContain("\"id\"");
        assertThat(inferences).hasValue(1);
    }

    @Test
    void clients_mayRefuseWhatIsKept_andThatTheirsIs() throws Exception {
        CachedStage stage = stage();
        String request = Infer.json("a", 1);
        assertThat(stage.post(request, "Cache-Control: no-store").header("cache-status"))
                .isEqualTo("isthmus; fwd=miss");
        assertThat(stage.post(request).header("cache-status")).contains("stored");
        assertThat(stage.post(request, "Cache-Control: no-cache").header("cache-status"))
                .isEqualTo("isthmus; fwd=request; stored");
        assertThat(stage.post(request).header("cache-status")).contains("hit");
        assertThat(inferences).hasValue(3);
        assertThat(stage.count("refreshed")).isEqualTo(1);
        assertThat(stage.unstored("no_store")).isEqualTo(1);
    }

    @Test
    void failures_areNotKept() throws Exception {
        CachedStage stage = stage();
        for (int i = 0; i < 2; i++) {
            assertThat(stage.post(Infer.json("fail", 1)).status()).isEqualTo(500);
        }
        assertThat(inferences).hasValue(2);
    }

    /** It is found out when it is written for a client: one that gets it as it is does not notice. */
    @Test
    void invalidResponse_isKeptUntilAClientNotices() throws Exception {
        AtomicBoolean broken = new AtomicBoolean(true);
        FakeGrpcServer server = opened(CachedStage.server((message, call) -> {
            inferences.incrementAndGet();
            ModelInferResponse response = CachedStage.response(Infer.request(message));
            FakeGrpcServer.respond(call, (broken.get() ? withoutContents(response) : response).toByteArray());
        }));
        CachedStage stage = opened(CachedStage.of(Stage.grpc(server, ServerDialect.TRITON), Map.of()));
        infer(stage.stage(), Infer.request("m", "a", 1));
        broken.set(false);
        Http1Client.Response invalid = stage.post(Infer.json("b", 1));
        assertThat(invalid.status()).isEqualTo(502);
        assertThat(invalid.header("cache-status")).startsWith("isthmus; hit");
        assertThat(stage.post(Infer.json("c", 1)).status()).isEqualTo(200);
        assertThat(inferences).hasValue(2);
    }

    private static ModelInferResponse withoutContents(ModelInferResponse response) {
        return response.toBuilder()
                .clearRawOutputContents()
                .addRawOutputContents(ByteString.EMPTY)
                .build();
    }

    @Test
    void whatIsTooLarge_isNotKept() throws Exception {
        CachedStage stage = stage(Map.of("maxResponse", 2000, "maxRequest", 3000));
        for (int i = 0; i < 2; i++) {
            assertThat(infer(stage.stage(), large(1000)).getRawOutputContents(0).size())
                    .isEqualTo(1000);
            assertThat(infer(stage.stage(), large(2500)).getRawOutputContents(0).size())
                    .isEqualTo(2500);
            assertThat(infer(stage.stage(), large(4000)).getRawOutputContents(0).size())
                    .isEqualTo(4000);
            // It passes in parts.
            assertThat(infer(stage.stage(), large(2 << 20))
                            .getRawOutputContents(0)
                            .size())
                    .isEqualTo(2 << 20);
        }
        assertThat(inferences).hasValue(7);
        assertThat(stage.count("large")).isEqualTo(4);
        assertThat(stage.unstored("large")).isEqualTo(2);
    }

    private static ModelInferRequest large(int bytes) {
        return ModelInferRequest.newBuilder()
                .setModelName("m")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("in")
                        .setDatatype("UINT8")
                        .addShape(bytes))
                .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
                .build();
    }

    /** Larger than what would pass in parts without a cache. */
    @Test
    void requestsOfSomeHundredKilobytes_areLookedUp() throws Exception {
        CachedStage stage = stage();
        for (int i = 0; i < 2; i++) {
            assertThat(infer(stage.stage(), large(602_112))
                            .getRawOutputContents(0)
                            .size())
                    .isEqualTo(602_112);
        }
        assertThat(inferences).hasValue(1);
    }

    @Test
    void leastUsedResponses_giveWayToOthers() throws Exception {
        CachedStage stage = stage(Map.of("maxBytes", 20_000));
        for (int i = 0; i < 100; i++) {
            infer(stage.stage(), large(1000 + i));
        }
        assertThat(stage.stage()
                        .proxy()
                        .meters()
                        .get("isthmus.cache.size")
                        .gauge()
                        .value())
                .isBetween(1.0, 20_000.0);
        assertThat(stage.stage()
                        .proxy()
                        .meters()
                        .get("isthmus.cache.evictions")
                        .tag("cause", "size")
                        .counter()
                        .count())
                .isGreaterThan(50);
    }

    @Test
    void sequences_areNeverCached() throws Exception {
        CachedStage stage = stage();
        ModelInferRequest request = Infer.request("m", "a", 1).toBuilder()
                .putParameters(
                        "sequence_id",
                        InferParameter.newBuilder().setInt64Param(5).build())
                .build();
        for (int i = 0; i < 2; i++) {
            infer(stage.stage(), request);
        }
        assertThat(inferences).hasValue(2);
        assertThat(stage.count("sequence")).isEqualTo(2);
    }

    @Test
    void nonDeterministicModels_areNeverCached() throws Exception {
        Stage stage = opened(
                Stage.with(CachedStage.config(echo(ServerDialect.TRITON), Map.of(), Map.of("deterministic", false))));
        for (int i = 0; i < 2; i++) {
            infer(stage, Infer.request("m", "a", 1));
        }
        assertThat(inferences).hasValue(2);
        assertThat(stage.proxy().meters().find("isthmus.cache.requests").counters())
                .isEmpty();
    }

    @Test
    void reload_keepsResponses_unlessTheRouteChanges() throws Exception {
        UpstreamConfig server = echo(ServerDialect.TRITON);
        CachedStage stage = opened(CachedStage.of(server, Map.of()));
        Stage plane = stage.stage();
        infer(plane, Infer.request("m", "a", 1));
        plane.limiting(Map.of("maxTensors", 100));
        infer(plane, Infer.request("m", "a", 1));
        assertThat(inferences).hasValue(1);
        plane.proxy().reload(CachedStage.config(server, Map.of(), Map.of("version", "2")));
        infer(plane, Infer.request("m", "a", 1));
        assertThat(inferences).hasValue(2);
        plane.proxy().reload(CachedStage.config(server, Map.of("ttl", Duration.ofSeconds(5)), Map.of("version", "2")));
        infer(plane, Infer.request("m", "a", 1));
        assertThat(inferences).hasValue(3);
        plane.proxy()
                .reload(CachedStage.config(
                        TestConfigs.with(server, Map.of("timeout", Duration.ofSeconds(7))),
                        Map.of("ttl", Duration.ofSeconds(5)),
                        Map.of("version", "2")));
        infer(plane, Infer.request("m", "a", 1));
        assertThat(inferences).hasValue(4);
    }

    @Test
    void withoutACache_messagesPassUnchanged() throws Exception {
        FakeGrpcServer server = opened(CachedStage.echo(inferences));
        Stage stage = opened(Stage.of(Stage.grpc(server, ServerDialect.TRITON)));
        ModelInferRequest request = Infer.request("m", "a", 1);
        GrpcClient client = call(stage, request);
        assertThat(client.status()).isEqualTo(Status.OK);
        assertThat(client.headers().get(STATUS)).isNull();
        assertThat(server.messages.take()).isEqualTo(request.toByteArray());
    }
}

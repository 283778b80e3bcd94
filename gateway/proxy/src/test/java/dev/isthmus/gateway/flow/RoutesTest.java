package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Calls through a gateway with renamed models, several targets, rules and fallbacks. */
class RoutesTest {
    private static final String INFER = "ModelInfer";
    private static final String BODY =
            "{\"id\":\"a\",\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[7]}]}";
    private static final String SIMPLE = """
            {"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":[%1$s]},
            {"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":[%1$s]}]}""".formatted("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");

    /** Responds to every request with the server's number. */
    private static final class Echo implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            call.sendMessage(Infer.responseTo(request, Infer.value(request)).toByteArray());
        }
    }

    private static UpstreamConfig nowhere() throws Exception {
        return TestConfigs.upstream(UpstreamProtocol.GRPC, TestConfigs.unusedEndpoint());
    }

    private static ModelConfig.TargetConfig target(String name, String upstream, @Nullable String model, int weight) {
        return new ModelConfig.TargetConfig(name, upstream, model, null, weight);
    }

    private static ModelConfig targets(List<ModelConfig.TargetConfig> targets, ModelConfig.RuleConfig... rules) {
        return TestConfigs.with(ModelConfig.DEFAULT, Map.of("targets", targets, "rules", List.of(rules)));
    }

    private static ModelConfig renamed(String upstream, String model) {
        return targets(List.of(target(upstream, upstream, model, 1)));
    }

    private static ModelConfig falling(String upstream, String model) {
        return TestConfigs.with(
                ModelConfig.of(upstream),
                Map.of("fallback", new ModelConfig.Fallback(GatewayConfig.LOCAL, model, null)));
    }

    private static ModelInferResponse infer(Stage stage, String model, String... header) throws Exception {
        Metadata headers = new Metadata();
        if (header.length == 2) {
            headers.put(Metadata.Key.of(header[0], Metadata.ASCII_STRING_MARSHALLER), header[1]);
        }
        GrpcClient client = GrpcClient.ask(
                stage.channel(), INFER, headers, Infer.request(model, "a", 7).toByteArray());
        ModelInferResponse response = Infer.response(client.response());
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        return response;
    }

    @Test
    void renamedModel_isRequestedByItsName_andHasTheClientsInResponses() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Echo());
                Stage stage = new Stage(
                        Map.of("u", Stage.grpc(server, ServerDialect.TRITON)),
                        Map.of("public", renamed("u", "internal")),
                        null,
                        false);
                Http1Client http = stage.http1()) {
            assertThat(infer(stage, "public").getModelName()).isEqualTo("public");
            assertThat(Infer.request(FakeGrpcServer.next(server.messages)).getModelName())
                    .isEqualTo("internal");
            assertThat(http.post("/v2/models/public/infer", BODY).response().text())
                    .isEqualTo(Infer.responseJson("public", "a", 7));
            assertThat(Infer.request(FakeGrpcServer.next(server.messages)).getModelName())
                    .isEqualTo("internal");
        }
    }

    @Test
    void renamedModel_ofARestServer_keepsTheServersBytes() throws Exception {
        String response = "{\"model_name\": \"%s\", \"parameters\": {\"own\": [null]}, \"outputs\": []}";
        try (FakeRestServer server = FakeRestServer.sending(ok(response.formatted("internal")));
                Stage stage = new Stage(
                        Map.of("u", Stage.rest(server, ServerDialect.MLSERVER)),
                        Map.of("public", renamed("u", "internal")),
                        null,
                        false);
                Http1Client http = stage.http1()) {
            assertThat(http.post("/v2/models/public/infer", BODY).response().text())
                    .isEqualTo(response.formatted("public"));
            assertThat(Stage.posted(server).head()).startsWith("POST /v2/models/internal/infer ");
        }
    }

    @Test
    void renamedModel_inAStream_hasTheClientsNameInResponses() throws Exception {
        FakeGrpcServer.Script script = (call, message) -> {
            ModelInferRequest request = Infer.request(message);
            call.sendMessage(Infer.enveloped(Infer.responseTo(request, 1)));
        };
        try (FakeGrpcServer server = new FakeGrpcServer(script);
                Stage stage = new Stage(
                        Map.of("u", Stage.grpc(server, ServerDialect.TRITON)),
                        Map.of("public", renamed("u", "internal")),
                        null,
                        false)) {
            GrpcClient client = GrpcClient.ask(
                    stage.channel(),
                    "ModelStreamInfer",
                    new Metadata(),
                    Infer.request("public", "a", 7).toByteArray());
            assertThat(Infer.envelope(client.response()).getInferResponse().getModelName())
                    .isEqualTo("public");
            assertThat(Infer.request(FakeGrpcServer.next(server.messages)).getModelName())
                    .isEqualTo("internal");
        }
    }

    @Test
    void rule_onAHeaderThatGoesNoFurther_choosesTheTarget() throws Exception {
        var rule = new ModelConfig.RuleConfig(Map.of("X-Canary", "yes"), Map.of(), "canary");
        try (FakeGrpcServer stable = new FakeGrpcServer(new Echo());
                FakeGrpcServer canary = new FakeGrpcServer(new Echo());
                Stage stage = new Stage(
                        Map.of(
                                "s", Stage.grpc(stable, ServerDialect.TRITON),
                                "c", Stage.grpc(canary, ServerDialect.TRITON)),
                        Map.of(
                                "m",
                                targets(List.of(target("stable", "s", null, 1), target("canary", "c", null, 0)), rule)),
                        null,
                        false);
                Http1Client http = stage.http1()) {
            infer(stage, "m");
            infer(stage, "m", "x-canary", "yes");
            http.post("/v2/models/m/infer", BODY, "x-canary: yes").response();
            assertThat(stable.messages).hasSize(1);
            assertThat(canary.messages).hasSize(2);
        }
    }

    @Test
    void fallback_takesOverFromAServerThatIsGone() throws Exception {
        try (Stage stage = new Stage(Map.of("gone", nowhere()), Map.of("m", falling("gone", "simple")), null, true);
                Http1Client http = stage.http1()) {
            Http1Client.Response response =
                    http.post("/v2/models/m/infer", SIMPLE).response();
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.text()).contains("\"model_name\":\"m\"").contains("[2,2,");
        }
    }

    @Test
    void fallback_ofAGrpcClient_getsItsResponseInItsForm() throws Exception {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId("x");
        for (String name : List.of("INPUT0", "INPUT1")) {
            request.addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName(name)
                    .setDatatype("INT32")
                    .addShape(1)
                    .addShape(16));
            request.addRawInputContents(com.google.protobuf.ByteString.copyFrom(new byte[64]));
        }
        try (Stage stage = new Stage(Map.of("gone", nowhere()), Map.of("m", falling("gone", "simple")), null, true)) {
            GrpcClient client = GrpcClient.ask(
                    stage.channel(), INFER, new Metadata(), request.build().toByteArray());
            ModelInferResponse response = Infer.response(client.response());
            assertThat(response.getModelName()).isEqualTo("m");
            assertThat(response.getId()).isEqualTo("x");
            assertThat(response.getRawOutputContentsList()).hasSize(2);
        }
    }

    @Test
    void fallback_doesNotGetWhatTheServerRefused() throws Exception {
        FakeGrpcServer.Script refusing = (call, message) ->
                call.close(Status.INVALID_ARGUMENT.withDescription("the server's words"), new Metadata());
        try (FakeGrpcServer server = new FakeGrpcServer(refusing);
                Stage stage = new Stage(
                        Map.of("u", Stage.grpc(server, ServerDialect.TRITON)),
                        Map.of("m", falling("u", "simple")),
                        null,
                        true);
                Http1Client http = stage.http1()) {
            Http1Client.Response response =
                    http.post("/v2/models/m/infer", BODY).response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.text()).isEqualTo("{\"error\":\"the server's words\"}");
        }
    }

    @Test
    void upstreams_ofDifferentKinds_areEachSentTheirForm() throws Exception {
        try (FakeGrpcServer grpc = new FakeGrpcServer(new Echo());
                FakeRestServer rest = FakeRestServer.sending(ok("{\"model_name\":\"m\",\"outputs\":[]}"));
                Stage stage = new Stage(
                        Map.of(
                                "g", Stage.grpc(grpc, ServerDialect.TRITON),
                                "r",
                                        Stage.upstream(
                                                UpstreamProtocol.REST,
                                                rest.endpoint(),
                                                ServerDialect.GENERIC,
                                                BinaryTensorData.FALSE,
                                                false)),
                        Map.of(
                                "m",
                                targets(
                                        List.of(target("g", "g", null, 0), target("r", "r", null, 1)),
                                        new ModelConfig.RuleConfig(Map.of("x-to", "g"), Map.of(), "g"))),
                        null,
                        false);
                Http1Client http = stage.http1()) {
            assertThat(http.post("/v2/models/m/infer", BODY, "x-to: g")
                            .response()
                            .text())
                    .isEqualTo(Infer.responseJson("m", "a", 7));
            assertThat(http.post("/v2/models/m/infer", BODY).response().text()).contains("\"outputs\":[]");
            assertThat(Stage.posted(rest).body()).isEqualTo(BODY);
        }
    }

    @Test
    void binaryData_toAServerWithoutIt_isJson_thoughAnotherTargetHasIt() throws Exception {
        String head = "{\"inputs\":[" + BinaryRequest.Body.input("x", "INT32", 1, 4) + "]}";
        try (FakeRestServer binary = FakeRestServer.sending(ok("{\"model_name\":\"m\",\"outputs\":[]}"));
                FakeRestServer json = FakeRestServer.sending(ok("{\"model_name\":\"m\",\"outputs\":[]}"));
                Stage stage = new Stage(
                        Map.of(
                                "b",
                                Stage.upstream(
                                        UpstreamProtocol.REST,
                                        binary.endpoint(),
                                        ServerDialect.TRITON,
                                        BinaryTensorData.TRUE,
                                        false),
                                "j",
                                Stage.rest(json, ServerDialect.MLSERVER)),
                        Map.of("m", targets(List.of(target("b", "b", null, 0), target("j", "j", null, 1)))),
                        null,
                        false);
                Http1Client http = stage.http1()) {
            http.post("/v2/models/m/infer", head + "\7\0\0\0", "Inference-Header-Content-Length: " + head.length())
                    .response();
            FakeRestServer.RestRequest seen = Stage.posted(json);
            assertThat(seen.head().toLowerCase(Locale.ROOT)).doesNotContain("inference-header-content-length");
            assertThat(seen.body())
                    .isEqualTo("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[7]}]}");
        }
    }
}

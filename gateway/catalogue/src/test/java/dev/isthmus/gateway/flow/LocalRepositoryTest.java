package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Message;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ModelControl;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ModelRepositoryParameter;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.config.ModelConfig;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The local backend's repository, as clients of both protocols see it. */
class LocalRepositoryTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Path MODELS = Path.of("../../local-backend/src/main/resources/models");
    private static final String INFER = """
            {"inputs": [{"name": "INPUT0", "datatype": "INT32", "shape": [1, 16],
                         "data": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},
                        {"name": "INPUT1", "datatype": "INT32", "shape": [1, 16],
                         "data": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}""";

    @TempDir
    Path root;

    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        put("simple/1/model.onnx");
        put("adder/1/model.onnx");
        put("broken/1/model.onnx");
        Files.writeString(root.resolve("broken/config.pbtxt"), "backend: 'python'");
        stage = FleetStage.local(new LocalConfig(
                root,
                false,
                1,
                16,
                ModelControl.EXPLICIT,
                List.of("simple", "broken"),
                "cpu",
                PATIENCE,
                PATIENCE,
                LocalConfig.ProcessKind.SHARED));
    }

    @AfterEach
    void stop() {
        stage.close();
    }

    private void put(String path) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.write(file, Files.readAllBytes(MODELS.resolve("simple/1/model.onnx")));
    }

    private Http1Client.Response get(String path) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.get(path).response();
        }
    }

    private Http1Client.Response post(String path, String body) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(path, body).response();
        }
    }

    private GrpcClient ask(String method, Message request) {
        return GrpcClient.ask(stage.channel(), method, new Metadata(), request.toByteArray());
    }

    private RepositoryIndexResponse index(boolean ready) throws Exception {
        RepositoryIndexRequest request =
                RepositoryIndexRequest.newBuilder().setReady(ready).build();
        return RepositoryIndexResponse.parseFrom(ask("RepositoryIndex", request).response());
    }

    private boolean ready(String model) throws Exception {
        ModelReadyRequest request =
                ModelReadyRequest.newBuilder().setName(model).build();
        return ModelReadyResponse.parseFrom(ask("ModelReady", request).response())
                .getReady();
    }

    @Test
    void index_overRest_hasStatesAndReasons() throws Exception {
        JsonNode index = JSON.readTree(post("/v2/repository/index", "{}").text());
        assertThat(index).extracting(model -> model.path("name").asText()).containsExactly("adder", "broken", "simple");
        assertThat(index.get(0).path("reason").asText()).isEqualTo("not loaded");
        assertThat(index.get(1).path("state").asText()).isEqualTo("UNAVAILABLE");
        assertThat(index.get(1).path("reason").asText())
                .isEqualTo("config.pbtxt: backend 'python': 'onnxruntime' is expected");
        assertThat(index.get(2))
                .isEqualTo(JSON.readTree("{\"name\":\"simple\",\"version\":\"1\",\"state\":\"READY\"}"));
    }

    @Test
    void index_overGrpc_ofReadyModels() throws Exception {
        assertThat(index(false).getModelsCount()).isEqualTo(3);
        assertThat(index(true).getModelsList())
                .containsExactly(RepositoryIndexResponse.ModelIndex.newBuilder()
                        .setName("simple")
                        .setVersion("1")
                        .setState("READY")
                        .build());
    }

    @Test
    void loadAndUnload_overRest() throws Exception {
        assertThat(post("/v2/models/adder/infer", INFER).status()).isEqualTo(404);
        Http1Client.Response loaded = post("/v2/repository/models/adder/load", "");
        assertThat(loaded.status()).as(loaded.text()).isEqualTo(200);
        assertThat(post("/v2/models/adder/infer", INFER).status()).isEqualTo(200);
        await().atMost(PATIENCE).until(() -> get("/v2/models/adder/ready").status() == 200);
        assertThat(JSON.readTree(get("/v2/models/adder").text())
                        .path("versions")
                        .get(0)
                        .asText())
                .isEqualTo("1");
        Http1Client.Response unloaded = post("/v2/repository/models/adder/unload", "{}");
        assertThat(unloaded.status()).as(unloaded.text()).isEqualTo(200);
        assertThat(post("/v2/models/adder/infer", INFER).status()).isEqualTo(404);
        await().atMost(PATIENCE).until(() -> get("/v2/models/adder/ready").status() != 200);
    }

    @Test
    void loadAndUnload_overGrpc() throws Exception {
        GrpcClient load = ask(
                "RepositoryModelLoad",
                RepositoryModelLoadRequest.newBuilder().setModelName("adder").build());
        assertThat(load.status().getCode()).isEqualTo(Status.Code.OK);
        await().atMost(PATIENCE).until(() -> ready("adder"));
        ModelMetadataRequest request =
                ModelMetadataRequest.newBuilder().setName("adder").build();
        ModelMetadataResponse metadata =
                ModelMetadataResponse.parseFrom(ask("ModelMetadata", request).response());
        assertThat(metadata.getPlatform()).isEqualTo("onnxruntime_onnx");
        assertThat(metadata.getInputs(0).getShapeList()).containsExactly(-1L, 16L);
        GrpcClient unload = ask(
                "RepositoryModelUnload",
                RepositoryModelUnloadRequest.newBuilder().setModelName("adder").build());
        assertThat(unload.status().getCode()).isEqualTo(Status.Code.OK);
        await().atMost(PATIENCE).until(() -> !ready("adder"));
    }

    @Test
    void load_thatFails_saysWhy_onBothProtocols() throws Exception {
        Http1Client.Response rest = post("/v2/repository/models/broken/load", "{}");
        assertThat(rest.status()).isEqualTo(400);
        assertThat(rest.text())
                .contains("backend 'python': 'onnxruntime' is expected")
                .doesNotContain(root.toString());
        Status status = ask(
                        "RepositoryModelLoad",
                        RepositoryModelLoadRequest.newBuilder()
                                .setModelName("broken")
                                .build())
                .status();
        assertThat(status.getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
        assertThat(status.getDescription()).contains("backend 'python'");
        assertThat(post("/v2/repository/models/none/load", "{}").status()).isEqualTo(404);
        assertThat(post("/v2/repository/models/none/unload", "{}").status()).isEqualTo(404);
    }

    @Test
    void load_withParameters_isRefused() throws Exception {
        Status status = ask(
                        "RepositoryModelLoad",
                        RepositoryModelLoadRequest.newBuilder()
                                .setModelName("adder")
                                .putParameters(
                                        "config",
                                        ModelRepositoryParameter.newBuilder()
                                                .setStringParam("{}")
                                                .build())
                                .build())
                .status();
        assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(status.getDescription()).contains("got [config]");
    }

    @Test
    void namedRepository_isRefused() throws Exception {
        assertThat(post("/v2/repository/other/models/adder/load", "{}").status())
                .isEqualTo(400);
    }

    @Test
    void statistics_ofBothProtocols() throws Exception {
        post("/v2/models/simple/infer", INFER);
        JsonNode rest = JSON.readTree(get("/v2/models/simple/stats").text())
                .path("model_stats")
                .get(0);
        assertThat(rest.path("inference_count").asInt()).isEqualTo(1);
        ModelStatisticsRequest request =
                ModelStatisticsRequest.newBuilder().setName("simple").build();
        var grpc = ModelStatisticsResponse.parseFrom(
                        ask("ModelStatistics", request).response())
                .getModelStats(0);
        assertThat(grpc.getInferenceStats().getSuccess().getCount()).isEqualTo(1);
        assertThat(grpc.getInferenceStats().getSuccess().getNs()).isPositive();
    }

    @Test
    void config_ofBothProtocols() throws Exception {
        JsonNode rest = JSON.readTree(get("/v2/models/simple/config").text());
        assertThat(rest.path("platform").asText()).isEqualTo("onnxruntime_onnx");
        assertThat(rest.path("input").get(0).path("data_type").asText()).isEqualTo("TYPE_INT32");
        ModelConfigRequest request =
                ModelConfigRequest.newBuilder().setName("simple").build();
        ModelConfigResponse response =
                ModelConfigResponse.parseFrom(ask("ModelConfig", request).response());
        ModelConfig grpc = ModelConfig.parseFrom(response.getConfig());
        assertThat(grpc.getName()).isEqualTo("simple");
        assertThat(grpc.getInputList()).hasSize(2);
        assertThat(get("/v2/models/none/config").status()).isEqualTo(404);
    }

    @Test
    void serverMetadata_hasWhatHolds() throws Exception {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(JSON.readTree(get("/v2").text()).path("extensions"))
                        .extracting(JsonNode::asText)
                        .contains("binary_tensor_data", "model_repository", "statistics", "model_configuration"));
    }
}

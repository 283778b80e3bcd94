package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The local backend's queue as clients see it, with one thread and a model that runs until the test ends it. */
class LocalExecutionTest {
    private static final Path MODEL = Path.of("../../local-backend/src/test/resources/execution/turns.onnx");
    private static final Metadata.Key<String> RETRY_AFTER =
            Metadata.Key.of("retry-after", Metadata.ASCII_STRING_MARSHALLER);
    private static final String INFER = "/v2/models/turns/infer";

    private static final String SIMPLE = """
            {"inputs": [{"name": "INPUT0", "datatype": "INT32", "shape": [1, 16], "data": [%1$s]},
                        {"name": "INPUT1", "datatype": "INT32", "shape": [1, 16], "data": [%1$s]}]}""".formatted("1" + ",1".repeat(15));

    @TempDir
    Path repository;

    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        Path version = Files.createDirectories(repository.resolve("turns/1"));
        Files.copy(MODEL, version.resolve("model.onnx"));
        stage = Stage.local(config());
    }

    private LocalConfig config() {
        return TestConfigs.with(
                DefaultValues.with(LocalConfig.DEFAULT, "modelRepository", repository, "embeddedModels", false),
                Map.of("threads", 1, "queueSize", 1));
    }

    @AfterEach
    void stop() {
        stage.close();
    }

    private static String json(long count) {
        return "{\"inputs\":[{\"name\":\"COUNT\",\"datatype\":\"INT64\",\"shape\":[1,1],\"data\":[" + count + "]}]}";
    }

    private GrpcClient endless() {
        ByteBuffer number =
                ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, Long.MAX_VALUE);
        byte[] request = ModelInferRequest.newBuilder()
                .setModelName("turns")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("COUNT")
                        .setDatatype("INT64")
                        .addShape(1)
                        .addShape(1))
                .addRawInputContents(ByteString.copyFrom(number))
                .build()
                .toByteArray();
        return GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request);
    }

    private Http1Client.Response ask(long count, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(INFER, json(count), headers).response();
        }
    }

    private void awaitRoom() {
        await().until(() -> ask(1).status() == 200);
    }

    /**
     * Waits until a worker has taken the previous call from the queue, so that the next one is queued rather than
     * rejected.
     */
    private void awaitRunning() {
        // It has arrived before those that ask.
        await().until(() -> stage.proxy()
                        .meters()
                        .get("isthmus.requests.under.way")
                        .tag("protocol", "grpc")
                        .gauge()
                        .value()
                == 1);
        await().until(() -> ask(1, "x-request-timeout-ms: 100").status() == 504);
    }

    @Test
    void queue_full_isSaidInBothProtocols_withATimeToAskAgain() throws Exception {
        GrpcClient running = endless();
        awaitRunning();
        GrpcClient queued = endless();
        GrpcClient refused = endless();
        assertThat(refused.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(refused.status().getDescription()).contains("its queue of 1 requests is full");
        assertThat(refused.trailers().get(RETRY_AFTER)).isEqualTo("1");
        Http1Client.Response response = ask(1);
        assertThat(response.status()).isEqualTo(503);
        assertThat(response.header("retry-after")).isEqualTo("1");
        assertThat(response.text()).contains("its queue of 1 requests is full");
        queued.cancel();
        running.cancel();
        awaitRoom();
    }

    @Test
    void deadline_thatPasses_endsTheRun() throws Exception {
        assertThat(ask(Long.MAX_VALUE, "x-request-timeout-ms: 50").status()).isEqualTo(504);
        awaitRoom();
    }

    @Test
    void otherModel_answers_whileOneHasAllThreads() throws Exception {
        stage.close();
        stage = Stage.local(TestConfigs.with(config(), Map.of("embeddedModels", true)));
        GrpcClient running = endless();
        awaitRunning();
        GrpcClient queued = endless();
        try (Http1Client client = stage.http1()) {
            assertThat(client.post("/v2/models/simple/infer", SIMPLE).response().status())
                    .isEqualTo(200);
        }
        queued.cancel();
        running.cancel();
        awaitRoom();
    }

    @Test
    void call_withoutDeadline_endsAfterTheTimeout() throws Exception {
        stage.close();
        stage = Stage.local(TestConfigs.with(config(), Map.of("timeout", Duration.ofMillis(50))));
        assertThat(ask(Long.MAX_VALUE).status()).isEqualTo(504);
        assertThat(endless().status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        awaitRoom();
    }

    @Test
    void classification_isAnsweredAsTritonDoes() throws Exception {
        String body = json(3).replace(
                        "]}]}", "]}],\"outputs\":[{\"name\":\"TURNS\",\"parameters\":{\"classification\":%s}}]}");
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post(INFER, body.formatted(2)).response();
            assertThat(response.text()).contains("\"datatype\":\"BYTES\"", "\"shape\":[1]", "\"3:0\"");
            assertThat(client.post(INFER, body.formatted("-1")).response().status())
                    .isEqualTo(400);
            assertThat(client.post(INFER, body.formatted("\"2\"")).response().status())
                    .isEqualTo(400);
        }
    }

    @Test
    void client_thatGoes_endsTheRun() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post(INFER, json(Long.MAX_VALUE));
        }
        awaitRoom();
    }
}

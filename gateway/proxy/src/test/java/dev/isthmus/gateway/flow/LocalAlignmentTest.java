package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Equal requests to a local model have equal results, wherever their bytes lie in the message. */
class LocalAlignmentTest {
    private static final Path MODEL = Path.of("../../local-backend/src/test/resources/execution/sums.onnx");
    private Stage stage;

    @BeforeEach
    void start(@TempDir Path repository) throws Exception {
        Path version = Files.createDirectories(repository.resolve("sums/1"));
        Files.copy(MODEL, version.resolve("model.onnx"));
        stage = Stage.local(
                DefaultValues.with(LocalConfig.DEFAULT, "modelRepository", repository, "embeddedModels", false));
    }

    @AfterEach
    void stop() {
        stage.close();
    }

    private static byte[] numbers(int count) {
        SplittableRandom random = new SplittableRandom(count);
        ByteBuffer raw = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        while (raw.hasRemaining()) {
            raw.putFloat((float) random.nextDouble(-1000, 1000));
        }
        return raw.array();
    }

    private String overRest(byte[] numbers, int spaces) throws Exception {
        String json = """
                {"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,%d],"parameters":{"binary_data_size":%d}}],
                 "outputs":[{"name":"SUM","parameters":{"binary_data":true}}]}""".formatted(numbers.length / Float.BYTES, numbers.length);
        byte[] head = (json + " ".repeat(spaces)).getBytes(StandardCharsets.US_ASCII);
        byte[] body = ByteBuffer.allocate(head.length + numbers.length)
                .put(head)
                .put(numbers)
                .array();
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post(
                            "/v2/models/sums/infer", body, "Inference-Header-Content-Length: " + head.length)
                    .response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            byte[] all = response.latin().getBytes(StandardCharsets.ISO_8859_1);
            return HexFormat.of().formatHex(all, all.length - Float.BYTES, all.length);
        }
    }

    private String overGrpc(byte[] numbers, int spaces) throws Exception {
        byte[] request = ModelInferRequest.newBuilder()
                .setModelName("sums")
                .setId(" ".repeat(spaces))
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("INPUT0")
                        .setDatatype("FP32")
                        .addShape(1)
                        .addShape(numbers.length / Float.BYTES))
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .setName("SUM"))
                .addRawInputContents(ByteString.copyFrom(numbers))
                .build()
                .toByteArray();
        GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request);
        return HexFormat.of()
                .formatHex(ModelInferResponse.parseFrom(client.response())
                        .getRawOutputContents(0)
                        .toByteArray());
    }

    /** The second body is one that the gateway reads into contiguous memory. */
    @Test
    void binaryRequest_withSpacesBehindItsHeader_hasTheSameBits_andSoHasGrpc() throws Exception {
        for (int count : new int[] {1001, 150_001}) {
            byte[] numbers = numbers(count);
            Set<String> sums = new TreeSet<>();
            for (int spaces = 0; spaces < 16; spaces++) {
                sums.add(overRest(numbers, spaces));
                sums.add(overGrpc(numbers, spaces));
            }
            assertThat(sums).as("%s numbers", count).hasSize(1);
        }
    }
}

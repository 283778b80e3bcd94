package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.local.translate.TestJars;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example translator in a repository, beside models whose device or translator is not available. */
class TranslatedModelTest {
    private static final Path EXAMPLE = Path.of(System.getProperty("isthmus.root"), "config/examples/translator");

    @TempDir
    private static Path folder;

    private static LocalBackend backend;

    @BeforeAll
    static void start() throws Exception {
        Path repository = Files.createDirectory(folder.resolve("models"));
        TestJars jars = new TestJars(Files.createDirectory(folder.resolve("classes")));
        String config = Files.readString(EXAMPLE.resolve("config.pbtxt"));
        Path text = model(repository, "digits_text", config);
        jars.jar(text.resolve("translator.jar"), Map.of());
        model(repository, "without_jar", config.replace("digits_text", "without_jar"));
        Path reshaped = model(
                repository,
                "reshaped",
                config.replace("digits_text", "reshaped")
                        .replace("TYPE_FP32 dims: [ -1 ]", "TYPE_FP32 dims: [ 1, -1 ] reshape { shape: [ -1 ] }"));
        jars.jar(reshaped.resolve("translator.jar"), Map.of());
        model(repository, "far", "instance_group [ { kind: KIND_GPU gpus: [ 255 ] } ]");
        backend = LocalBackend.start(TestSettings.of(repository, true, 2, 64)).awaitStart();
    }

    private static Path model(Path repository, String name, String config) throws Exception {
        Path version = Files.createDirectories(repository.resolve(name + "/1"));
        Files.writeString(repository.resolve(name + "/config.pbtxt"), config);
        try (InputStream in = LocalBackend.class.getResourceAsStream("/models/digits/1/model.onnx")) {
            Files.copy(in, version.resolve("model.onnx"));
        }
        return version;
    }

    @AfterAll
    static void stop() {
        backend.close();
    }

    private static CompletableFuture<InferResponse> infer(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteBuf data =
                ByteBufAllocator.DEFAULT.buffer().writeIntLE(bytes.length).writeBytes(bytes);
        Tensor input = new Tensor("text", DataType.BYTES, Shape.of(1), Map.of(), data);
        CompletableFuture<InferResponse> outcome = new CompletableFuture<>();
        InferRequest request = new InferRequest(ModelRef.of("digits_text"), "id", Map.of(), List.of(input), List.of());
        backend.infer(request, Long.MAX_VALUE, ByteBufAllocator.DEFAULT, new InferCallback() {
            @Override
            public void done(InferResponse response) {
                outcome.complete(response);
            }

            @Override
            public void failed(OipException failure) {
                outcome.completeExceptionally(failure);
            }
        });
        return outcome;
    }

    @Test
    void text_isAnsweredWithAWord() {
        InferResponse response =
                infer(String.join(",", Collections.nCopies(64, "0"))).join();
        assertThat(response.outputs()).extracting(Tensor::name).containsExactly("digit", "confidence");
        assertThat(response.outputs().getFirst().data().toString(4, 3, StandardCharsets.UTF_8))
                .matches("[a-z]{3}");
        response.release();
    }

    @Test
    void text_thatTheTranslatorRefuses_isInvalid() {
        assertThat(infer("1,2"))
                .failsWithin(10, TimeUnit.SECONDS)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .withMessage("model 'digits_text': text 0: 64 numbers are expected, got 2");
    }

    @Test
    void metadata_areThoseOfTheConfiguration_andSayWhereItRuns() {
        ModelMetadata metadata = backend.metadata(ModelRef.of("digits_text")).orElseThrow();
        assertThat(metadata.inputs()).extracting(TensorMetadata::name).containsExactly("text");
        assertThat(metadata.outputs()).extracting(TensorMetadata::dataType).containsExactly("BYTES", "FP32");
        assertThat(metadata.parameters())
                .containsEntry("provider", new Parameter.Text("CPUExecutionProvider"))
                .containsEntry("device", new Parameter.Text("cpu"))
                .containsEntry("translator", new Parameter.Text("DigitsText"));
    }

    private static String reason(String model) {
        CompletableFuture<List<ModelStatus>> index = new CompletableFuture<>();
        backend.index(new LocalBackend.Outcome<>() {
            @Override
            public void done(List<ModelStatus> value) {
                index.complete(value);
            }

            @Override
            public void failed(OipException failure) {
                index.completeExceptionally(failure);
            }
        });
        return index.join().stream()
                .filter(status -> status.name().equals(model))
                .map(ModelStatus::reason)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void models_thatCannotBeLoaded_leaveTheOthersAlone() throws Exception {
        assertThat(backend.ready(ModelRef.of("far"))).isFalse();
        assertThat(reason("far")).contains("device gpu:255 is not available: ");
        assertThat(backend.ready(ModelRef.of("without_jar"))).isFalse();
        assertThat(reason("without_jar")).contains("its translator DigitsText needs a jar");
        assertThat(reason("reshaped")).contains("shape [-1], but the model has [1,-1]");
        assertThat(TestJars.openFiles()).noneMatch(file -> file.contains("reshaped"));
        assertThat(backend.ready(ModelRef.of("digits"))).isTrue();
        assertThat(backend.ready(ModelRef.of("digits_text"))).isTrue();
    }
}

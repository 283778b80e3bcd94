package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.source;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.local.repository.Declaration;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.onnx.ModelProto;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors without a shape, and models that ONNX Runtime refuses. */
class UnshapedTensorsTest {
    private static final Path MODELS = Path.of("src/test/resources/execution");

    private static OnnxModel load(String name) {
        return OnnxModel.load(source(name, MODELS.resolve(name + ".onnx")), "cpu");
    }

    @Test
    void metadata_sayThatAnyShapeIsTaken() {
        OnnxModel model = load("unshaped");
        TensorMetadata any =
                new TensorMetadata("INPUT0", "FP32", Shape.of(-1), Map.of("any_shape", new Parameter.Bool(true)));
        assertThat(model.inputs()).containsExactly(any);
        assertThat(model.outputs().getFirst().shape()).isEqualTo(Shape.of(-1));
        model.release();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 16})
    void anyRank_isTaken(int rank) {
        OnnxModel model = load("unshaped");
        long[] shape = new long[rank];
        Arrays.fill(shape, 1);
        List<Tensor> outputs = run(model, request(floats("INPUT0", new float[] {2}, shape)));
        assertThat(outputs.getFirst().shape()).isEqualTo(Shape.of(shape));
        assertThat(outputs.getFirst().data().getFloatLE(0)).isEqualTo(2);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void rowsOfAnyShape_areLimited_andAScalarHasNone() {
        ModelSource plain = source("unshaped", MODELS.resolve("unshaped.onnx"));
        ModelSource batching = new ModelSource("unshaped", "1", rows(2), plain.onnx(), List.of());
        OnnxModel model = OnnxModel.load(batching, "cpu");
        for (Tensor taken : List.of(floats("INPUT0", new float[] {2}), floats("INPUT0", new float[2], 2))) {
            run(model, request(taken)).forEach(Tensor::release);
        }
        assertThatThrownBy(() -> run(model, request(floats("INPUT0", new float[3], 3))))
                .hasMessageEndingWith("input 'INPUT0': at most 2 rows are expected (max_batch_size), got 3");
        model.release();
    }

    private static ModelSettings rows(int maxBatchSize) {
        ModelSettings plain = ModelSettings.DEFAULT;
        return new ModelSettings(
                plain.versions(),
                maxBatchSize,
                null,
                0,
                null,
                1,
                null,
                plain.inputs(),
                plain.outputs(),
                true,
                Map.of());
    }

    @Test
    void scalar_isAScalar() {
        OnnxModel model = Fixtures.load("scalar");
        assertThat(model.inputs().getFirst().shape()).isEqualTo(Shape.SCALAR);
        assertThat(model.inputs().getFirst().parameters()).isEmpty();
        model.release();
    }

    @Test
    void declaration_mayHaveAnyShape() {
        OnnxModel model = load("unshaped");
        TensorMetadata declared = new TensorMetadata("INPUT0", DataType.FP32.name(), Shape.of(1, 3), Map.of());
        ModelSettings plain = ModelSettings.DEFAULT;
        ModelSettings settings = new ModelSettings(
                plain.versions(),
                0,
                null,
                0,
                null,
                1,
                null,
                List.of(new TensorConfig(declared, null)),
                List.of(),
                true,
                Map.of());
        Declaration.require(settings, model.inputs(), model.outputs());
        model.release();
    }

    @Test
    void input_thatNoRequestCanName_isRefused() {
        for (int bytes : new int[] {256, 257}) {
            String name = "x".repeat(bytes);
            ModelProto model = Graphs.model(Graphs.graph(
                    List.of(OnnxProto.node("Identity", "y", name)),
                    List.of(OnnxProto.value(name, DataType.FP32, -1)),
                    OnnxProto.value("y", DataType.FP32, -1)));
            if (bytes > 256) {
                assertThatThrownBy(() -> Graphs.load(model))
                        .isInstanceOf(OipException.class)
                        .hasMessageEndingWith("…': a name of at most 256 bytes is expected, got 257");
            } else {
                Graphs.load(model).release();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"a, \ud83d\ude00", "\ud83d\ude00, b", "'a\0', b", "a, 'b\0'"})
    void nameThatTheJavaApiChanges_isRefused(String input, String output) {
        ModelProto model = Graphs.model(Graphs.graph(
                List.of(OnnxProto.node("Neg", output, input)),
                List.of(OnnxProto.value(input, DataType.FP32, -1)),
                OnnxProto.value(output, DataType.FP32, -1)));
        assertThatThrownBy(() -> Graphs.load(model))
                .hasMessageContaining("': a name in UTF-8 is expected, without characters beyond U+FFFF and U+0000")
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }

    @Test
    void refusedModel_hasTheReasonOfOnnxRuntime() {
        assertThatThrownBy(() -> load("unknown"))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("No Op registered for Adagrad")
                .hasMessageNotContaining(".cc")
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }
}

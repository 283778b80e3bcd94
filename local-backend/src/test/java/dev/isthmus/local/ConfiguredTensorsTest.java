package dev.isthmus.local;

import static dev.isthmus.local.ModelFolders.infer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Inputs and outputs as a config.pbtxt shows and limits them. */
class ConfiguredTensorsTest {
    private static final ModelRef M = ModelRef.of("m");

    @TempDir
    Path root;

    private ModelFolders models;

    @BeforeEach
    void takeRoot() {
        models = new ModelFolders(root);
    }

    private static Shape output(LocalBackend backend, long... shape) {
        InferResponse response = infer(backend, M, DataType.FP32, shape);
        return response.outputs().getFirst().shape();
    }

    @Test
    void reshape_isAView() throws IOException {
        models.copy("fixed.onnx", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] reshape { shape: [ 1, 2 ] } }
                output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2, 1, 1 ] reshape { shape: [ 1, 2 ] } }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(output(backend, 2)).isEqualTo(Shape.of(2, 1, 1));
            ModelMetadata metadata = backend.metadata(M).orElseThrow();
            assertThat(metadata.inputs().getFirst().shape()).isEqualTo(Shape.of(2));
            assertThat(metadata.outputs().getFirst().shape()).isEqualTo(Shape.of(2, 1, 1));
            var config = backend.config(M).orElseThrow();
            assertThat(config.getInput(0).getDimsList()).containsExactly(2L);
            assertThat(config.getInput(0).getReshape().getShapeList()).containsExactly(1L, 2L);
            assertThatThrownBy(() -> output(backend, 1, 2)).hasMessageContaining("shape [2] is expected, got [1,2]");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'', '[-1]', '[1, -1]', 5, 5",
        "'max_batch_size: 4', '[2, 3]', '[6]', 4x2x3, 4x2x3",
        "'max_batch_size: 4', '[2, -1, 3]', '[-1]', , "
    })
    void reshape_keepsVariableDimensions(String batch, String dims, String reshape, String given, String got)
            throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                %s
                input { name: "INPUT0" data_type: TYPE_FP32 dims: %s reshape { shape: %s } }
                output { name: "OUTPUT0" data_type: TYPE_FP32 dims: %s reshape { shape: %s } }
                """.formatted(batch, dims, reshape, dims, reshape));
        try (LocalBackend backend = models.explicit()) {
            if (given == null) {
                assertThatThrownBy(() -> ModelFolders.load(backend, "m")).hasMessageContaining("as many elements");
                return;
            }
            ModelFolders.load(backend, "m");
            assertThat(output(backend, shape(given))).isEqualTo(Shape.of(shape(got)));
        }
    }

    private static long[] shape(String text) {
        return Arrays.stream(text.split("x")).mapToLong(Long::parseLong).toArray();
    }

    @Test
    void outputOfAnotherShapeThanConfigured_failsTheRun() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 6 ] reshape { shape: [ 2, 3 ] } }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(output(backend, 2, 3)).isEqualTo(Shape.of(6));
            assertThatThrownBy(() -> output(backend, 3, 2))
                    .isInstanceOf(OipException.class)
                    .hasMessageContaining("output 'OUTPUT0': shape [2,3] is configured, the model gives [3,2]");
        }
    }

    @Test
    void raggedInput_isFlat_inAModelThatSaysSo() throws IOException {
        models.copy("positive.onnx", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                max_batch_size: 8
                input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
                dynamic_batching { }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(output(backend, 1, 3)).isEqualTo(Shape.of(0));
            var config = backend.config(M).orElseThrow();
            assertThat(config.getInput(0).getAllowRaggedBatch()).isTrue();
            assertThat(config.getInput(0).hasReshape()).isFalse();
            assertThat(config.hasDynamicBatching()).isTrue();
        }
    }

    @Test
    void configuredSizes_areLimits() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                max_batch_size: 4
                input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 3 ] }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(output(backend, 4, 3)).isEqualTo(Shape.of(4, 3));
            assertThatThrownBy(() -> output(backend, 5, 3))
                    .hasMessage("model 'm': input 'INPUT0': at most 4 rows are expected (max_batch_size), got 5");
            assertThatThrownBy(() -> output(backend, 4, 2)).hasMessageContaining("shape [-1,3] is expected, got [4,2]");
            var config = backend.config(M).orElseThrow();
            assertThat(config.hasDynamicBatching()).isFalse();
            assertThat(config.getInput(0).getDimsList()).containsExactly(3L);
        }
    }

    @Test
    void outputs_thatTheConfigurationLeavesOut_areNotThere() throws IOException {
        models.copy("sums.onnx", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                output { name: "NORM" data_type: TYPE_FP32 dims: [ -1, 1 ] }
                output { name: "PRODUCT" data_type: TYPE_FP32 dims: [ -1, -1 ] }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            InferResponse response = infer(backend, M, DataType.FP32, 2, 3);
            assertThat(response.outputs()).extracting("name").containsExactly("NORM", "PRODUCT");
            assertThat(response.outputs().get(1).shape()).isEqualTo(Shape.of(2, 2));
            assertThat(backend.metadata(M).orElseThrow().outputs())
                    .extracting("name")
                    .containsExactly("NORM", "PRODUCT");
        }
    }
}

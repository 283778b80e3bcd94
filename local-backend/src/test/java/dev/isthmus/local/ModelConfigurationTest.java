package dev.isthmus.local;

import static dev.isthmus.local.ModelFolders.load;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The effect of configurations on real models. */
class ModelConfigurationTest {
    @TempDir
    Path root;

    private ModelFolders models;

    @BeforeEach
    void takeRoot() {
        models = new ModelFolders(root);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "input { name: 'INPUT0' data_type: TYPE_FP64 dims: [-1, -1] } |"
                        + " input 'INPUT0': datatype FP64, but the model has FP32",
                "input { name: 'INPUT0' data_type: TYPE_FP32 dims: [-1] } |"
                        + " input 'INPUT0': shape [-1], but the model has [-1,-1]",
                "output { name: 'Y' data_type: TYPE_FP32 dims: [-1] } |"
                        + " output 'Y': the model has none of this name, but [OUTPUT0]"
            })
    void configurationThatContradictsTheModel_failsItsLoad(String line) throws IOException {
        String[] parts = line.split(" \\| ", 2);
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", parts[0]);
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining(parts[1]);
            assertThat(backend.ready(ModelRef.of("m"))).isFalse();
        }
    }

    @Test
    void configurationThatFits_isShown() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                max_batch_size: 8
                input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
                instance_group { count: 2 kind: KIND_CPU }
                dynamic_batching { max_queue_delay_microseconds: 100 }
                """);
        try (LocalBackend backend = models.explicit("m")) {
            var config = backend.config(ModelRef.of("m")).orElseThrow();
            assertThat(config.getPlatform()).isEqualTo("onnxruntime_onnx");
            assertThat(config.getMaxBatchSize()).isEqualTo(8);
            assertThat(config.getInput(0).getDimsList()).containsExactly(4L);
            assertThat(config.getInstanceGroup(0).getCount()).isEqualTo(2);
            assertThat(config.getDynamicBatching().getMaxQueueDelayMicroseconds())
                    .isEqualTo(100);
            assertThat(backend.metadata(ModelRef.of("m"))
                            .orElseThrow()
                            .inputs()
                            .getFirst()
                            .shape())
                    .isEqualTo(Shape.of(-1, 4));
            assertThat(backend.config(ModelRef.of("none"))).isEmpty();
        }
    }

    @Test
    void labelFile_namesTheClasses() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/labels.txt", "zero\none\n");
        models.write(
                "m/config.pbtxt",
                "output { name: 'OUTPUT0' label_filename: 'labels.txt'" + " data_type: TYPE_FP32 dims: [ -1, -1 ] }");
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(ModelFolders.classes(backend, "m")).isEqualTo("0.000000:0:zero");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"none.txt | 'm/none.txt' cannot be read", "../../outside.txt | out of the repository"})
    void labelFile_thatIsNotInTheRepository_failsTheLoad(String line) throws IOException {
        String[] parts = line.split(" \\| ", 2);
        Files.writeString(root.resolve("outside.txt"), "zero");
        models = new ModelFolders(Files.createDirectories(root.resolve("repository")));
        models.put("fp32", "m/1/model.onnx");
        models.write(
                "m/config.pbtxt",
                "output { name: 'OUTPUT0' label_filename: '" + parts[0] + "'"
                        + " data_type: TYPE_FP32 dims: [ -1, -1 ] }");
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining(parts[1]);
        }
    }

    @Test
    void versionOfMlServersSettings_mayBeAName() throws IOException {
        models.put("fp32", "m/model.onnx");
        models.write("m/model-settings.json", "{\"parameters\": {\"uri\": \"model.onnx\", \"version\": \"v0.1.0\"}}");
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(ModelFolders.infer(backend, "m")).isEqualTo("v0.1.0");
            assertThat(ModelFolders.infer(backend, "m", "v0.1.0", DataType.FP32))
                    .isEqualTo("v0.1.0");
            assertThat(backend.ready(new ModelRef("m", "1"))).isFalse();
            assertThat(ModelFolders.index(backend))
                    .containsExactly(new ModelStatus("m", "v0.1.0", ModelStatus.State.READY, ""));
            assertThat(backend.metadata(ModelRef.of("m")).orElseThrow().versions())
                    .containsExactly("v0.1.0");
            models.write("m/model-settings.json", "{\"parameters\": {\"uri\": \"none\", \"version\": \"v0.2.0\"}}");
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("'m/none' is expected");
            assertThat(ModelFolders.infer(backend, "m")).isEqualTo("v0.1.0");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"bool", "uint8", "int8", "int16", "int32", "int64", "fp16", "bf16", "fp32", "fp64"})
    void warmUp_ofRandomData_isRunForEachDatatype(String type) throws IOException {
        models.put(type, "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                model_warmup { name: "random" count: 2 inputs { key: "INPUT0"
                  value: { data_type: TYPE_%s dims: [ 2, 3 ] random_data: true } } }
                """.formatted(type.toUpperCase(Locale.ROOT)));
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(backend.ready(ModelRef.of("m"))).isTrue();
            assertThat(backend.statistics(ModelRef.of("m")).getFirst().inferences())
                    .isZero();
        }
    }

    @Test
    void warmUp_thatTheModelDoesNotTake_failsItsLoad() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", """
                model_warmup { name: "wrong" inputs { key: "X" value: { data_type: TYPE_FP32 dims: [ 1 ] } } }
                """);
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("version 1: warm-up 'wrong': ");
        }
    }
}

package dev.isthmus.local.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MlServerSettingsTest {

    @Test
    void empty_hasTheDefaults() {
        assertThat(MlServerSettings.read("{}"))
                .usingRecursiveComparison()
                .ignoringFields("settings.limits")
                .isEqualTo(ModelFile.NONE);
    }

    @Test
    void everythingKnown_isRead() {
        ModelFile file = MlServerSettings.read("""
                {"name": "iris", "max_batch_size": 16, "max_batch_time": 0.25,
                 "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
                 "outputs": [{"name": "y", "datatype": "BYTES", "shape": []}],
                 "parameters": {"uri": "./iris.onnx", "version": "12"}}
                """);
        assertThat(file.name()).isEqualTo("iris");
        assertThat(file.file()).isEqualTo("./iris.onnx");
        assertThat(file.version()).isEqualTo("12");
        assertThat(file.ignored()).isEmpty();
        assertThat(file.settings().maxBatchSize()).isEqualTo(16);
        assertThat(file.settings().maxQueueDelay()).isEqualTo(Duration.ofMillis(250));
        assertThat(file.settings().inputs())
                .containsExactly(new TensorConfig(new TensorMetadata("x", "FP32", Shape.of(-1, 4), Map.of()), null));
        assertThat(file.settings().outputs())
                .containsExactly(new TensorConfig(new TensorMetadata("y", "BYTES", Shape.SCALAR, Map.of()), null));
        assertThat(file.settings().limits()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"max_batch_size\": 4}",
                "{\"max_batch_time\": 0.5}",
                "{\"max_batch_size\": 4, \"max_batch_time\": 0}",
                "{\"max_batch_size\": 1, \"max_batch_time\": 0.5}"
            })
    void requests_runAloneUnlessSizeAndTimeAreSet(String text) {
        ModelSettings settings = MlServerSettings.read(text).settings();
        assertThat(settings.maxBatchSize()).isZero();
        assertThat(settings.maxQueueDelay()).isNull();
    }

    @Test
    void unknownFields_areNamed() {
        ModelFile file = MlServerSettings.read(
                "{\"implementation\": \"a.B\", \"parallel_workers\": 2, \"parameters\": {\"extra\": {}}}");
        assertThat(file.ignored()).containsExactly("implementation", "parallel_workers", "parameters.extra");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[] | an object is expected",
                "{ | model-settings.json: ",
                "{\"name\": 1} | name: a string is expected, got 1",
                "{\"max_batch_size\": -1} | max_batch_size from 0 to 1000000 is expected, got -1",
                "{\"max_batch_time\": 61} | max_batch_time from 0 to 60 seconds is expected, got 61",
                "{\"parameters\": {\"version\": \"v/1\"}} | parameters.version: letters, digits and . _ + - are expected, got 'v/1'",
                "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FLOAT\", \"shape\": []}]} | a datatype such as FP32",
                "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\"}]} | a shape such as [-1, 64] is expected",
                "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1.5]}]} | is expected, got [1.5]"
            })
    void wrong_isRefusedWithValueAndExpectation(String line) {
        String[] parts = line.split(" \\| ", 2);
        assertThatThrownBy(() -> MlServerSettings.read(parts[0]))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("model-settings.json: ")
                .hasMessageContaining(parts[1])
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }
}

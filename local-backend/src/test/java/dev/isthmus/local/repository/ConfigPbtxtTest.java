package dev.isthmus.local.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigPbtxtTest {

    private static ModelSettings settings(String text) {
        return ConfigPbtxt.read(text).settings();
    }

    @Test
    void empty_hasTheDefaults() {
        ModelFile file = ConfigPbtxt.read("");
        assertThat(file).isEqualTo(ModelFile.NONE);
    }

    @Test
    void comments_areSteppedOver() {
        assertThat(settings("# of a file\nmax_batch_size: 4 # rows\n").maxBatchSize())
                .isEqualTo(4);
    }

    @Test
    void inputListedTwice_isRefused_withBothLines() {
        assertThatThrownBy(() -> settings("""
                        input { name: "x" data_type: TYPE_FP32 dims: [1] }
                        output { name: "x" data_type: TYPE_FP32 dims: [1] }
                        input [
                          { name: "y" data_type: TYPE_FP32 dims: [1] },
                          { name: "x" data_type: TYPE_FP32 dims: [1] }
                        ]
                        """))
                .hasMessage("config.pbtxt: line 5: input 'x' is expected once, but is also in line 1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform: 'onnxruntime_onnx'", "backend: \"onnxruntime\""})
    void onnx_isTaken(String text) {
        assertThat(settings(text)).isEqualTo(ModelSettings.DEFAULT);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "platform: 'tensorrt_plan' | platform 'tensorrt_plan': 'onnxruntime_onnx' is expected",
                "backend: 'python' | backend 'python': 'onnxruntime' is expected",
                "max_batch_size: -1 | max_batch_size from 0 to 1000000 is expected, got -1",
                "max_batch_size: '8' | line 1, column 17: a whole number is expected, got '8'",
                "max_batch_size: 99999999999 | line 1, column 17: a whole number of 32 bits is expected, got 99999999999",
                "max_batch_size: 8 max_batch_size: 4 | line 1, column 33: max_batch_size is expected once",
                "input { name: 'x' data_type: TYPE_FP32 dims: [0] } | line 1: input 'x': dims of -1 or from 1 on are expected, got [0]",
                "output { name: 'x' data_type: TYPE_FP32 dims: [2, 0] } | line 1: output 'x': dims of -1 or from 1 on are expected, got [2, 0]",
                "input { name: 'x' data_type: TYPE_FP32 dims: [2, 3] reshape { shape: [5] } } | line 1: input 'x': a reshape of as many elements as dims [2, 3] is expected, got [5]",
                "output { name: 'x' data_type: TYPE_FP32 dims: [-1, 3] reshape { shape: [3, -1] } } | as many elements as dims [-1, 3] is expected, got [3, -1]",
                "version_policy { latest { num_versions: 0 } } | num_versions from 1 on is expected, got 0",
                "version_policy { specific { } } | at least one version is expected",
                "version_policy { specific { versions: [0] } } | versions from 1 to 999999999999999999 are expected, got 0",
                "input { name: 'x' dims: [1] } | input 'x': a data_type such as TYPE_FP32 is expected",
                "input { name: 'x' data_type: TYPE_FP32 dims: [-2] } | extents from -1 on are expected, got [-2]",
                "input { name: 'x' data_type: TYPE_FP31 } | TYPE_FP31",
                "instance_group { count: -1 } | count from 0 to 1024 is expected, got -1",
                "instance_group { kind: KIND_GPU gpus: [-1] } | gpus from 0 to 255 are expected, got -1",
                "instance_group { kind: KIND_CPU gpus: [0] } | KIND_GPU or KIND_AUTO only, got KIND_CPU",
                "dynamic_batching { max_queue_delay_microseconds: 60000001 } | from 0 to 60000000 is expected, got 60000001",
                "parameters { key: 'intra_op_thread_count' value { string_value: 'two' } } | from 0 to 1024 is expected, got 'two'",
                "default_model_filename: '../model.onnx' | the name of a file in the version's folder is expected",
                "model_warmup { name: 'w' count: 1001 } | model_warmup 'w': count from 0 to 1000 is expected, got 1001",
                "model_warmup { name: 'w' batch_size: 1000001 } | batch_size from 0 to 1000000 is expected, got 1000001",
                "max_batch_size: many | many",
                "version_policy { | line 1, column "
            })
    void wrong_isRefusedWithValueAndExpectation(String line) {
        String[] parts = line.split(" \\| ", 2);
        assertThatThrownBy(() -> ConfigPbtxt.read(parts[0]))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("config.pbtxt: ")
                .hasMessageContaining(parts[1])
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }

    @Test
    void warmUp_withOpenExtents_isRefused() {
        String text = "model_warmup { name: 'w' inputs { key: 'x' value { data_type: TYPE_FP32 dims: [-1] } } }";
        assertThatThrownBy(() -> ConfigPbtxt.read(text)).hasMessageContaining("dims without -1 are expected, got [-1]");
    }

    @Test
    void versionPolicy_isRead() {
        assertThat(settings("version_policy: { latest: { num_versions: 3 } }").versions())
                .isEqualTo(new VersionPolicy.Latest(3));
        assertThat(settings("version_policy { all { } }").versions()).isEqualTo(new VersionPolicy.All());
        assertThat(settings("version_policy { specific { versions: [3, 1] } }").versions())
                .isEqualTo(new VersionPolicy.Specific(new TreeSet<>(List.of(1L, 3L))));
    }

    @Test
    void tensors_areThoseOfTheModel() {
        ModelSettings settings = settings("""
                input [ { name: "a" data_type: TYPE_STRING dims: [ -1, 3 ] }, { name: "b" data_type: TYPE_BF16 } ]
                output [ { name: "c" data_type: TYPE_UINT64 dims: [ 2 ] } ]
                """);
        assertThat(settings.inputs())
                .containsExactly(
                        new TensorConfig(new TensorMetadata("a", "BYTES", Shape.of(-1, 3), Map.of()), null),
                        new TensorConfig(new TensorMetadata("b", "BF16", Shape.SCALAR, Map.of()), null));
        assertThat(settings.outputs())
                .containsExactly(new TensorConfig(new TensorMetadata("c", "UINT64", Shape.of(2), Map.of()), null));
        assertThat(settings.limits()).isTrue();
    }

    @Test
    void dims_lackTheBatchDimension_whereThereIsOne() {
        ModelSettings settings = settings("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: [64] }");
        assertThat(settings.inputs().getFirst().inModel()).isEqualTo(Shape.of(-1, 64));
    }

    @ParameterizedTest
    @CsvSource({
        "{ count: 2 }, 2, ",
        "{ }, 1, ",
        "{ kind: KIND_CPU }, 1, cpu",
        "{ kind: KIND_MODEL }, 1, ",
        "{ kind: KIND_GPU count: 3 }, 3, gpu:0",
        "{ kind: KIND_GPU gpus: [1] }, 1, gpu:1",
        "{ gpus: [1] }, 1, auto"
    })
    void instanceGroup_isPermitsAndADevice(String group, int count, String device) {
        ModelSettings settings = settings("instance_group " + group);
        assertThat(settings.instances()).isEqualTo(count);
        assertThat(settings.device()).isEqualTo(device);
    }

    @Test
    void severalGroups_countTogether_onTheDeviceOfTheFirst() {
        ModelFile file = ConfigPbtxt.read(
                "instance_group [ { count: 2 kind: KIND_CPU }, { count: 3 kind: KIND_GPU gpus: [0, 1] } ]");
        assertThat(file.settings().instances()).isEqualTo(5);
        assertThat(file.settings().device()).isEqualTo("cpu");
        assertThat(file.ignored())
                .containsExactly("instance_group.gpus but the first", "instance_group.kind of all but the first group");
    }

    @Test
    void batching_isRead() {
        ModelSettings settings = settings("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 1500 }");
        assertThat(settings.maxBatchSize()).isEqualTo(8);
        assertThat(settings.maxQueueDelay()).isEqualTo(Duration.ofNanos(1_500_000));
        assertThat(settings("max_batch_size: 8 dynamic_batching { }").maxQueueDelay())
                .isEqualTo(Duration.ZERO);
        assertThat(settings("max_batch_size: 8").maxQueueDelay()).isNull();
    }

    @Test
    void parameters_thatAreKnown_areRead() {
        ModelSettings settings = settings("""
                parameters { key: "intra_op_thread_count" value: { string_value: "4" } }
                parameters { key: "translator" value: { string_value: "com.example.Iris" } }
                """);
        assertThat(settings.intraOpThreads()).isEqualTo(4);
        assertThat(settings.translator()).isEqualTo("com.example.Iris");
    }

    @Test
    void intraOpThreads_ofZero_areTheDefault() {
        assertThat(settings("parameters { key: 'intra_op_thread_count' value { string_value: '0' } }")
                        .intraOpThreads())
                .isEqualTo(1);
    }

    @Test
    void nameAndFile_areRead() {
        ModelFile file = ConfigPbtxt.read("name: 'iris' default_model_filename: 'iris.onnx'");
        assertThat(file.name()).isEqualTo("iris");
        assertThat(file.file()).isEqualTo("iris.onnx");
    }

    @Test
    void unknownFields_areNamed_andTheOthersRead() {
        ModelFile file = ConfigPbtxt.read("""
                max_batch_size: 8
                input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] format: FORMAT_NCHW reshape: { shape: [ 2, 2 ] } } ]
                dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 7 }
                optimization { cuda { graphs: true } }
                sequence_batching: { oldest: { max_candidate_sequences: 4 } }
                parameters { key: "enable_mem_arena" value: { string_value: "1" } }
                version_policy: { latest: { num_versions: 2 } }
                """);
        assertThat(file.ignored())
                .containsExactly(
                        "input.format",
                        "dynamic_batching.preferred_batch_size",
                        "optimization",
                        "sequence_batching",
                        "parameters.enable_mem_arena");
        assertThat(file.settings().maxBatchSize()).isEqualTo(8);
        assertThat(file.settings().maxQueueDelay()).isEqualTo(Duration.ofNanos(7_000));
        assertThat(file.settings().versions()).isEqualTo(new VersionPolicy.Latest(2));
    }

    @Test
    void warmUps_areRead_andThoseOfFilesNamed() {
        ModelFile file = ConfigPbtxt.read("""
                max_batch_size: 8
                model_warmup [
                  { name: "two" batch_size: 2 count: 3
                    inputs { key: "b" value: { data_type: TYPE_INT32 dims: [ 4 ] random_data: true } }
                    inputs { key: "a" value: { data_type: TYPE_FP32 dims: [ 2, 2 ] zero_data: true } } },
                  { name: "file" inputs { key: "a" value: { data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "raw" } } }
                ]
                """);
        assertThat(file.warmUps())
                .containsExactly(new WarmUpRequest(
                        "two",
                        3,
                        List.of(
                                new WarmUpRequest.Input("a", DataType.FP32, Shape.of(2, 2, 2), false),
                                new WarmUpRequest.Input("b", DataType.INT32, Shape.of(2, 4), true))));
        assertThat(file.ignored()).containsExactly("model_warmup 'file' with its input_data_file");
    }
}

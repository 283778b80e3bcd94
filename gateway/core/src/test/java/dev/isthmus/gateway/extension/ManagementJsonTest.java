package dev.isthmus.gateway.extension;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.SystemSharedMemoryRegisterRequest;
import dev.isthmus.proto.triton.ModelConfig;
import dev.isthmus.proto.triton.ModelEnsembling;
import dev.isthmus.proto.triton.ModelInput;
import dev.isthmus.proto.triton.ModelInstanceGroup;
import dev.isthmus.proto.triton.ModelSequenceBatching;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ManagementJsonTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static JsonNode configuration(ModelConfig.Builder config) throws IOException {
        byte[] response = ModelConfigResponse.newBuilder()
                .setConfig(config.build().toByteString())
                .build()
                .toByteArray();
        byte[] json = ManagementJson.toJson(Extension.MODEL_CONFIG, response);
        assertThat(ManagementJson.toProtobuf(Extension.MODEL_CONFIG, json)).isEqualTo(response);
        return JSON.readTree(json);
    }

    /** As Triton: all 64-bit integers are numbers, but for two fields that it overlooks. */
    @Test
    void configuration_integersAreOfTritonsTypes() throws IOException {
        JsonNode json = configuration(ModelConfig.newBuilder()
                .addInput(ModelInput.newBuilder().addDims(-1))
                .addInstanceGroup(ModelInstanceGroup.newBuilder()
                        .addSecondaryDevices(
                                ModelInstanceGroup.SecondaryDevice.newBuilder().setDeviceId(3)))
                .setSequenceBatching(ModelSequenceBatching.newBuilder()
                        .setMaxSequenceIdleMicroseconds(5)
                        .addState(ModelSequenceBatching.State.newBuilder()
                                .addDims(2)
                                .addInitialState(ModelSequenceBatching.InitialState.newBuilder()
                                        .addDims(2)))));
        assertThat(json.at("/input/0/dims/0").intValue()).isEqualTo(-1);
        assertThat(json.at("/instance_group/0/secondary_devices/0/device_id").textValue())
                .isEqualTo("3");
        assertThat(json.at("/sequence_batching/max_sequence_idle_microseconds").intValue())
                .isEqualTo(5);
        assertThat(json.at("/sequence_batching/state/0/dims/0").intValue()).isEqualTo(2);
        assertThat(json.at("/sequence_batching/state/0/initial_state/0/dims/0").textValue())
                .isEqualTo("2");
    }

    @Test
    void configuration_fieldThatOlderServersLack_isThereIfTheServerSaysSo() throws IOException {
        ModelEnsembling.Builder ensemble = ModelEnsembling.newBuilder();
        assertThat(configuration(ModelConfig.newBuilder().setEnsembleScheduling(ensemble))
                        .path("ensemble_scheduling")
                        .has("max_inflight_requests"))
                .isFalse();
        ensemble.setMaxInflightRequests(4);
        assertThat(configuration(ModelConfig.newBuilder().setEnsembleScheduling(ensemble))
                        .at("/ensemble_scheduling/max_inflight_requests")
                        .intValue())
                .isEqualTo(4);
    }

    private static RepositoryIndexRequest index(String json) throws IOException {
        ByteBuf body = Unpooled.copiedBuffer(json, UTF_8);
        ByteBuf message = ManagementJson.toProtobuf(Extension.REPOSITORY_INDEX, ModelRef.of(""), "", body);
        return RepositoryIndexRequest.parseFrom(ByteBufUtil.getBytes(message));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"ready\":true} | true",
                "{\"ready\":false} | false",
                "{\"ready\":null} | false",
                "{} | false",
                "'' | false"
            })
    void index_readyIsABoolean(String json, boolean ready) throws IOException {
        assertThat(index(json).getReady()).isEqualTo(ready);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[true]", "\"true\"", "1"})
    void index_anythingElse_isRefused(String value) {
        assertThatThrownBy(() -> index("{\"ready\":" + value + "}"))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessage("'ready': true or false is expected, got " + value);
    }

    private static byte[] register(Extension extension, String json) throws IOException {
        ByteBuf body = Unpooled.copiedBuffer(json, UTF_8);
        return ByteBufUtil.getBytes(ManagementJson.toProtobuf(extension, ModelRef.of(""), "r", body));
    }

    @Test
    void region_isRegisteredAsTheClientSays() throws IOException {
        String json = "{\"key\":\"/k\",\"offset\":8,\"byte_size\":18446744073709551615}";
        byte[] message = register(Extension.SYSTEM_SHARED_MEMORY_REGISTER, json);
        assertThat(SystemSharedMemoryRegisterRequest.parseFrom(message))
                .isEqualTo(SystemSharedMemoryRegisterRequest.newBuilder()
                        .setName("r")
                        .setKey("/k")
                        .setOffset(8)
                        .setByteSize(-1)
                        .build());
        assertThat(ManagementJson.toJson(Extension.SYSTEM_SHARED_MEMORY_REGISTER, Unpooled.wrappedBuffer(message))
                        .toString(UTF_8))
                .isEqualTo(json);
        byte[] cuda = register(
                Extension.CUDA_SHARED_MEMORY_REGISTER,
                "{\"raw_handle\":{\"b64\":\"AAE=\"},\"device_id\":-2,\"byte_size\":4}");
        assertThat(CudaSharedMemoryRegisterRequest.parseFrom(cuda))
                .isEqualTo(CudaSharedMemoryRegisterRequest.newBuilder()
                        .setName("r")
                        .setRawHandle(ByteString.copyFrom(new byte[] {0, 1}))
                        .setDeviceId(-2)
                        .setByteSize(4)
                        .build());
    }

    @ParameterizedTest
    @CsvSource({
        "SYSTEM, offset, '\"many\"'",
        "SYSTEM, offset, -1",
        "SYSTEM, byte_size, 1.5",
        "SYSTEM, byte_size, 18446744073709551616",
        "CUDA, device_id, 9223372036854775808",
        "CUDA, byte_size, true"
    })
    void region_withANumberThatIsNone_isRefused(String kind, String field, String value) {
        assertThatThrownBy(() -> register(
                        Extension.valueOf(kind + "_SHARED_MEMORY_REGISTER"), "{\"" + field + "\":" + value + "}"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(field + ": ")
                .hasMessageEndingWith(", got " + value);
    }
}

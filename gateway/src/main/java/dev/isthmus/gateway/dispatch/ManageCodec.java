package dev.isthmus.gateway.dispatch;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.Extension;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import dev.isthmus.proto.CudaSharedMemoryStatusRequest;
import dev.isthmus.proto.CudaSharedMemoryStatusResponse;
import dev.isthmus.proto.CudaSharedMemoryUnregisterRequest;
import dev.isthmus.proto.LogSettingsRequest;
import dev.isthmus.proto.LogSettingsResponse;
import dev.isthmus.proto.ModelRepositoryParameter;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.SystemSharedMemoryRegisterRequest;
import dev.isthmus.proto.SystemSharedMemoryStatusRequest;
import dev.isthmus.proto.SystemSharedMemoryStatusResponse;
import dev.isthmus.proto.SystemSharedMemoryUnregisterRequest;
import dev.isthmus.proto.TraceSettingRequest;
import dev.isthmus.proto.TraceSettingResponse;
import java.io.IOException;
import java.util.Base64;
import java.util.Map;

/** The messages of the management extensions in the form of the other protocol (Triton's protocol documents). */
final class ManageCodec {
    private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final byte[] NOTHING = {};
    /** A parameter of this name holds the bytes of a file, which JSON has as base64. */
    private static final String FILE = "file:";

    private ManageCodec() {}

    /** That a body is empty or JSON. */
    static void requireJson(byte[] content) throws IOException {
        if (content.length > 0) {
            JSON.readTree(content);
        }
    }

    static byte[] requestToProtobuf(Operation.Manage manage, byte[] content) throws IOException {
        JsonNode read = content.length == 0 ? JSON.createObjectNode() : JSON.readTree(content);
        if (!read.isObject()) {
            throw OipException.invalid("the body: an object is expected");
        }
        String name = manage.model().name();
        Message message = switch (manage.extension()) {
            case MODEL_CONFIG -> throw unknown(manage.extension());
            case MODEL_STATISTICS ->
                ModelStatisticsRequest.newBuilder()
                        .setName(name)
                        .setVersion(manage.model().version())
                        .build();
            case TRACE_SETTING -> trace(name, read);
            case LOG_SETTINGS -> log(read);
            case REPOSITORY_INDEX ->
                RepositoryIndexRequest.newBuilder()
                        .setRepositoryName(manage.resource())
                        .setReady(read.path("ready").asBoolean())
                        .build();
            case REPOSITORY_LOAD -> {
                var load = RepositoryModelLoadRequest.newBuilder()
                        .setRepositoryName(manage.resource())
                        .setModelName(name);
                read.path("parameters")
                        .properties()
                        .forEach(each -> load.putParameters(each.getKey(), parameter(each.getKey(), each.getValue())));
                yield load.build();
            }
            case REPOSITORY_UNLOAD -> {
                var unload = RepositoryModelUnloadRequest.newBuilder()
                        .setRepositoryName(manage.resource())
                        .setModelName(name);
                read.path("parameters")
                        .properties()
                        .forEach(
                                each -> unload.putParameters(each.getKey(), parameter(each.getKey(), each.getValue())));
                yield unload.build();
            }
            case SYSTEM_SHARED_MEMORY_STATUS ->
                SystemSharedMemoryStatusRequest.newBuilder()
                        .setName(manage.resource())
                        .build();
            case SYSTEM_SHARED_MEMORY_REGISTER ->
                SystemSharedMemoryRegisterRequest.newBuilder()
                        .setName(manage.resource())
                        .setKey(read.path("key").asText())
                        .setOffset(read.path("offset").asLong())
                        .setByteSize(read.path("byte_size").asLong())
                        .build();
            case SYSTEM_SHARED_MEMORY_UNREGISTER ->
                SystemSharedMemoryUnregisterRequest.newBuilder()
                        .setName(manage.resource())
                        .build();
            case CUDA_SHARED_MEMORY_STATUS ->
                CudaSharedMemoryStatusRequest.newBuilder()
                        .setName(manage.resource())
                        .build();
            case CUDA_SHARED_MEMORY_REGISTER ->
                CudaSharedMemoryRegisterRequest.newBuilder()
                        .setName(manage.resource())
                        .setRawHandle(bytes(
                                "raw_handle",
                                read.path("raw_handle").path("b64").asText()))
                        .setDeviceId(read.path("device_id").asLong())
                        .setByteSize(read.path("byte_size").asLong())
                        .build();
            case CUDA_SHARED_MEMORY_UNREGISTER ->
                CudaSharedMemoryUnregisterRequest.newBuilder()
                        .setName(manage.resource())
                        .build();
        };
        return message.toByteArray();
    }

    private static TraceSettingRequest trace(String model, JsonNode settings) {
        TraceSettingRequest.Builder request = TraceSettingRequest.newBuilder().setModelName(model);
        settings.properties().forEach(setting -> {
            // Without a value the setting goes back to what is configured.
            var value = TraceSettingRequest.SettingValue.newBuilder();
            if (setting.getValue().isArray()) {
                setting.getValue().forEach(each -> value.addValue(each.asText()));
            } else if (!setting.getValue().isNull()) {
                value.addValue(setting.getValue().asText());
            }
            request.putSettings(setting.getKey(), value.build());
        });
        return request.build();
    }

    private static LogSettingsRequest log(JsonNode settings) {
        LogSettingsRequest.Builder request = LogSettingsRequest.newBuilder();
        settings.properties().forEach(setting -> {
            var value = LogSettingsRequest.SettingValue.newBuilder();
            if (setting.getValue().isBoolean()) {
                value.setBoolParam(setting.getValue().booleanValue());
            } else if (setting.getValue().isIntegralNumber()) {
                value.setUint32Param(unsigned(setting.getKey(), setting.getValue()));
            } else if (setting.getValue().isValueNode() && !setting.getValue().isNull()) {
                value.setStringParam(setting.getValue().asText());
            } else if (!setting.getValue().isNull()) {
                throw OipException.invalid(
                        "setting '" + setting.getKey() + "': a string, an integer or a boolean is expected");
            }
            request.putSettings(setting.getKey(), value.build());
        });
        return request.build();
    }

    private static int unsigned(String name, JsonNode value) {
        if (!value.canConvertToLong() || value.longValue() >>> Integer.SIZE != 0) {
            throw OipException.invalid(
                    "setting '" + name + "': an integer of 0 to 4294967295 is expected, got " + value);
        }
        return value.intValue();
    }

    private static ModelRepositoryParameter parameter(String name, JsonNode value) {
        ModelRepositoryParameter.Builder parameter = ModelRepositoryParameter.newBuilder();
        if (value.isBoolean()) {
            parameter.setBoolParam(value.booleanValue());
        } else if (value.isIntegralNumber() && value.canConvertToLong()) {
            parameter.setInt64Param(value.longValue());
        } else if (value.isTextual() && name.startsWith(FILE)) {
            parameter.setBytesParam(bytes(name, value.textValue()));
        } else if (value.isTextual()) {
            parameter.setStringParam(value.textValue());
        } else {
            throw OipException.invalid("parameter '" + name + "': a string, an integer or a boolean is expected");
        }
        return parameter.build();
    }

    private static ByteString bytes(String name, String base64) {
        try {
            return ByteString.copyFrom(Base64.getDecoder().decode(base64));
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "'" + name + "': base64 is expected", e);
        }
    }

    /** What a REST server wants in the body; names stand in its path. */
    static byte[] requestToJson(Extension extension, byte[] content) throws IOException {
        ObjectNode json = JSON.createObjectNode();
        switch (extension) {
            case MODEL_CONFIG -> throw unknown(extension);
            case TRACE_SETTING ->
                TraceSettingRequest.parseFrom(content).getSettingsMap().forEach((name, value) -> {
                    if (value.getValueCount() == 0) {
                        json.putNull(name);
                    } else {
                        setting(json, name, value.getValueList());
                    }
                });
            case LOG_SETTINGS ->
                LogSettingsRequest.parseFrom(content).getSettingsMap().forEach((name, value) -> {
                    switch (value.getParameterChoiceCase()) {
                        case BOOL_PARAM -> json.put(name, value.getBoolParam());
                        case UINT32_PARAM -> json.put(name, Integer.toUnsignedLong(value.getUint32Param()));
                        case STRING_PARAM -> json.put(name, value.getStringParam());
                        case PARAMETERCHOICE_NOT_SET -> json.putNull(name);
                    }
                });
            case REPOSITORY_INDEX ->
                json.put("ready", RepositoryIndexRequest.parseFrom(content).getReady());
            case REPOSITORY_LOAD ->
                parameters(json, RepositoryModelLoadRequest.parseFrom(content).getParametersMap());
            case REPOSITORY_UNLOAD ->
                parameters(json, RepositoryModelUnloadRequest.parseFrom(content).getParametersMap());
            case SYSTEM_SHARED_MEMORY_REGISTER -> {
                var request = SystemSharedMemoryRegisterRequest.parseFrom(content);
                json.put("key", request.getKey())
                        .put("offset", request.getOffset())
                        .put("byte_size", request.getByteSize());
            }
            case CUDA_SHARED_MEMORY_REGISTER -> {
                var request = CudaSharedMemoryRegisterRequest.parseFrom(content);
                json.putObject("raw_handle").put("b64", base64(request.getRawHandle()));
                json.put("device_id", request.getDeviceId()).put("byte_size", request.getByteSize());
            }
            case MODEL_STATISTICS,
                    SYSTEM_SHARED_MEMORY_STATUS,
                    SYSTEM_SHARED_MEMORY_UNREGISTER,
                    CUDA_SHARED_MEMORY_STATUS,
                    CUDA_SHARED_MEMORY_UNREGISTER -> {}
        }
        return JSON.writeValueAsBytes(json);
    }

    private static void parameters(ObjectNode json, Map<String, ModelRepositoryParameter> parameters) {
        ObjectNode node = json.putObject("parameters");
        parameters.forEach((name, value) -> {
            switch (value.getParameterChoiceCase()) {
                case BOOL_PARAM -> node.put(name, value.getBoolParam());
                case INT64_PARAM -> node.put(name, value.getInt64Param());
                case STRING_PARAM -> node.put(name, value.getStringParam());
                case BYTES_PARAM -> node.put(name, base64(value.getBytesParam()));
                case PARAMETERCHOICE_NOT_SET -> node.putNull(name);
            }
        });
    }

    private static String base64(ByteString bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    /** Levels of tracing are a list, everything else one value. */
    private static void setting(ObjectNode json, String name, Iterable<String> values) {
        if (name.equals("trace_level")) {
            ArrayNode list = json.putArray(name);
            values.forEach(list::add);
        } else {
            values.forEach(value -> json.put(name, value));
        }
    }

    static byte[] answerToJson(Extension extension, byte[] content) throws IOException {
        ObjectNode json = JSON.createObjectNode();
        switch (extension) {
            case MODEL_CONFIG -> throw unknown(extension);
            case MODEL_STATISTICS -> {
                return JSON.writeValueAsBytes(ProtobufJson.write(ModelStatisticsResponse.parseFrom(content)));
            }
            case TRACE_SETTING ->
                TraceSettingResponse.parseFrom(content)
                        .getSettingsMap()
                        .forEach((name, value) -> setting(json, name, value.getValueList()));
            case LOG_SETTINGS ->
                LogSettingsResponse.parseFrom(content).getSettingsMap().forEach((name, value) -> {
                    switch (value.getParameterChoiceCase()) {
                        case BOOL_PARAM -> json.put(name, value.getBoolParam());
                        case UINT32_PARAM -> json.put(name, Integer.toUnsignedLong(value.getUint32Param()));
                        case STRING_PARAM -> json.put(name, value.getStringParam());
                        case PARAMETERCHOICE_NOT_SET -> json.putNull(name);
                    }
                });
            case REPOSITORY_INDEX -> {
                ArrayNode models = JSON.createArrayNode();
                RepositoryIndexResponse.parseFrom(content).getModelsList().forEach(model -> {
                    ObjectNode node = models.addObject().put("name", model.getName());
                    putIfAny(node, "version", model.getVersion());
                    putIfAny(node, "state", plainState(model.getState()));
                    putIfAny(node, "reason", model.getReason());
                });
                return JSON.writeValueAsBytes(models);
            }
            case SYSTEM_SHARED_MEMORY_STATUS -> {
                ArrayNode regions = JSON.createArrayNode();
                SystemSharedMemoryStatusResponse.parseFrom(content)
                        .getRegionsMap()
                        .values()
                        .forEach(region -> regions.add(ProtobufJson.write(region)));
                return JSON.writeValueAsBytes(regions);
            }
            case CUDA_SHARED_MEMORY_STATUS -> {
                ArrayNode regions = JSON.createArrayNode();
                CudaSharedMemoryStatusResponse.parseFrom(content)
                        .getRegionsMap()
                        .values()
                        .forEach(region -> regions.add(ProtobufJson.write(region)));
                return JSON.writeValueAsBytes(regions);
            }
            default -> {
                return NOTHING;
            }
        }
        return JSON.writeValueAsBytes(json);
    }

    /** MLServer writes the name of its enum's class in front. */
    private static String plainState(String state) {
        return state.substring(state.lastIndexOf('.') + 1);
    }

    /** An index of a repository whose states are as all servers write them. */
    static byte[] plainStates(byte[] content) throws IOException {
        RepositoryIndexResponse.Builder index =
                RepositoryIndexResponse.newBuilder().mergeFrom(content);
        index.getModelsBuilderList().forEach(model -> model.setState(plainState(model.getState())));
        return index.build().toByteArray();
    }

    private static void putIfAny(ObjectNode node, String name, String value) {
        if (!value.isEmpty()) {
            node.put(name, value);
        }
    }

    static byte[] answerToProtobuf(Extension extension, byte[] content) throws IOException {
        JsonNode json = content.length == 0 ? JSON.createObjectNode() : JSON.readTree(content);
        if (!json.isContainerNode()) {
            throw new IOException("an object or an array is expected");
        }
        Message message = switch (extension) {
            case MODEL_CONFIG -> throw unknown(extension);
            case MODEL_STATISTICS ->
                ProtobufJson.read(json, ModelStatisticsResponse.newBuilder()).build();
            case TRACE_SETTING -> {
                var settings = TraceSettingResponse.newBuilder();
                json.properties().forEach(setting -> {
                    var value = TraceSettingResponse.SettingValue.newBuilder();
                    if (setting.getValue().isArray()) {
                        setting.getValue().forEach(each -> value.addValue(each.asText()));
                    } else {
                        value.addValue(setting.getValue().asText());
                    }
                    settings.putSettings(setting.getKey(), value.build());
                });
                yield settings.build();
            }
            case LOG_SETTINGS -> {
                var settings = LogSettingsResponse.newBuilder();
                log(json).getSettingsMap().forEach((name, value) -> {
                    var copy = LogSettingsResponse.SettingValue.newBuilder();
                    switch (value.getParameterChoiceCase()) {
                        case BOOL_PARAM -> copy.setBoolParam(value.getBoolParam());
                        case UINT32_PARAM -> copy.setUint32Param(value.getUint32Param());
                        case STRING_PARAM -> copy.setStringParam(value.getStringParam());
                        case PARAMETERCHOICE_NOT_SET -> {}
                    }
                    settings.putSettings(name, copy.build());
                });
                yield settings.build();
            }
            case REPOSITORY_INDEX -> {
                var index = RepositoryIndexResponse.newBuilder();
                for (JsonNode model : json) {
                    index.addModels(ProtobufJson.read(model, RepositoryIndexResponse.ModelIndex.newBuilder())
                            .build());
                }
                yield index.build();
            }
            case SYSTEM_SHARED_MEMORY_STATUS -> {
                var regions = SystemSharedMemoryStatusResponse.newBuilder();
                for (JsonNode region : json) {
                    regions.putRegions(
                            region.path("name").asText(),
                            ProtobufJson.read(region, SystemSharedMemoryStatusResponse.RegionStatus.newBuilder())
                                    .build());
                }
                yield regions.build();
            }
            case CUDA_SHARED_MEMORY_STATUS -> {
                var regions = CudaSharedMemoryStatusResponse.newBuilder();
                for (JsonNode region : json) {
                    regions.putRegions(
                            region.path("name").asText(),
                            ProtobufJson.read(region, CudaSharedMemoryStatusResponse.RegionStatus.newBuilder())
                                    .build());
                }
                yield regions.build();
            }
            default -> null;
        };
        return message == null ? NOTHING : message.toByteArray();
    }

    private static OipException unknown(Extension extension) {
        return new OipException(
                ErrorCode.UNIMPLEMENTED,
                extension + " is passed on only where client and upstream speak the same protocol");
    }
}

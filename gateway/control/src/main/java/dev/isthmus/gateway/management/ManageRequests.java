package dev.isthmus.gateway.management;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import dev.isthmus.proto.CudaSharedMemoryStatusRequest;
import dev.isthmus.proto.CudaSharedMemoryUnregisterRequest;
import dev.isthmus.proto.LogSettingsRequest;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelRepositoryParameter;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.SystemSharedMemoryRegisterRequest;
import dev.isthmus.proto.SystemSharedMemoryStatusRequest;
import dev.isthmus.proto.SystemSharedMemoryUnregisterRequest;
import dev.isthmus.proto.TraceSettingRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Map;

/** Requests of the management extensions in the form of the other protocol (Triton's protocol documents). */
final class ManageRequests {
    private static final ObjectMapper JSON = ManageSettings.JSON;
    /** A parameter of this name holds the bytes of a file, which JSON has as base64. */
    private static final String FILE = "file:";

    private ManageRequests() {}

    /** The failure of a request whose body cannot be read. */
    static OipException malformed(IOException cause) {
        String problem = cause instanceof JsonProcessingException json
                ? json.getOriginalMessage()
                : String.valueOf(cause.getMessage());
        return new OipException(ErrorCode.INVALID_ARGUMENT, "the body is malformed: " + problem, cause);
    }

    /** The request (borrowed) of a REST client as a protobuf message, owned by the caller. */
    static ByteBuf toProtobuf(Operation.Manage manage, ByteBuf content) throws IOException {
        if (manage.extension().carriesFiles()) {
            return LoadRequests.toProtobuf(manage, content);
        }
        InputStream in = new ByteBufInputStream(content.slice());
        JsonNode read = content.isReadable() ? JSON.readTree(in) : JSON.createObjectNode();
        if (!read.isObject()) {
            throw OipException.invalid("the body: an object is expected");
        }
        String name = manage.model().name();
        Message message = switch (manage.extension()) {
            case MODEL_CONFIG ->
                ModelConfigRequest.newBuilder()
                        .setName(name)
                        .setVersion(manage.model().version())
                        .build();
            case MODEL_STATISTICS ->
                ModelStatisticsRequest.newBuilder()
                        .setName(name)
                        .setVersion(manage.model().version())
                        .build();
            case TRACE_SETTING -> trace(name, read);
            case LOG_SETTINGS -> ManageSettings.log(read);
            case REPOSITORY_INDEX ->
                RepositoryIndexRequest.newBuilder()
                        .setRepositoryName(manage.resource())
                        .setReady(read.path("ready").asBoolean())
                        .build();
            case REPOSITORY_LOAD -> throw new IllegalStateException("read elsewhere");
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
        return Unpooled.wrappedBuffer(message.toByteArray());
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

    /** What a REST server wants in the body, owned by the caller; names stand in its path. */
    static ByteBuf toJson(Extension extension, ByteBuf message) throws IOException {
        if (extension.carriesFiles()) {
            return LoadRequests.toJson(message);
        }
        ByteBuffer content = message.nioBuffer();
        ObjectNode json = JSON.createObjectNode();
        switch (extension) {
            case TRACE_SETTING ->
                TraceSettingRequest.parseFrom(content).getSettingsMap().forEach((name, value) -> {
                    if (value.getValueCount() == 0) {
                        json.putNull(name);
                    } else {
                        ManageSettings.setting(json, name, value.getValueList());
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
            case MODEL_CONFIG,
                    MODEL_STATISTICS,
                    REPOSITORY_LOAD,
                    SYSTEM_SHARED_MEMORY_STATUS,
                    SYSTEM_SHARED_MEMORY_UNREGISTER,
                    CUDA_SHARED_MEMORY_STATUS,
                    CUDA_SHARED_MEMORY_UNREGISTER -> {}
        }
        return Unpooled.wrappedBuffer(JSON.writeValueAsBytes(json));
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
}

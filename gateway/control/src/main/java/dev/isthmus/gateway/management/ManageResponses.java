package dev.isthmus.gateway.management;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Message;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.proto.CudaSharedMemoryStatusResponse;
import dev.isthmus.proto.LogSettingsResponse;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.SystemSharedMemoryStatusResponse;
import dev.isthmus.proto.TraceSettingResponse;
import dev.isthmus.proto.triton.ModelConfig;
import java.io.IOException;

/** Answers of the management extensions in the form of the other protocol (Triton's protocol documents). */
final class ManageResponses {
    private static final ObjectMapper JSON = ManageSettings.JSON;
    private static final byte[] NOTHING = {};

    private ManageResponses() {}

    static byte[] toJson(Extension extension, byte[] content) throws IOException {
        ObjectNode json = JSON.createObjectNode();
        switch (extension) {
            case MODEL_CONFIG -> {
                var config = ModelConfig.parseFrom(
                        ModelConfigResponse.parseFrom(content).getConfig());
                return JSON.writeValueAsBytes(ProtobufJson.write(config));
            }
            case MODEL_STATISTICS -> {
                return JSON.writeValueAsBytes(ProtobufJson.write(ModelStatisticsResponse.parseFrom(content)));
            }
            case TRACE_SETTING ->
                TraceSettingResponse.parseFrom(content)
                        .getSettingsMap()
                        .forEach((name, value) -> ManageSettings.setting(json, name, value.getValueList()));
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

    static byte[] toProtobuf(Extension extension, byte[] content) throws IOException {
        JsonNode json = content.length == 0 ? JSON.createObjectNode() : JSON.readTree(content);
        if (!json.isContainerNode()) {
            throw new IOException("an object or an array is expected");
        }
        Message message = switch (extension) {
            case MODEL_CONFIG ->
                ModelConfigResponse.newBuilder()
                        .setConfig(ProtobufJson.read(json, ModelConfig.newBuilder())
                                .build()
                                .toByteString())
                        .build();
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
                ManageSettings.log(json).getSettingsMap().forEach((name, value) -> {
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
}

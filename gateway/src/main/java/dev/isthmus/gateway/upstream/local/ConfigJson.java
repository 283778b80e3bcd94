package dev.isthmus.gateway.upstream.local;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.proto.config.ModelInstanceGroup;
import dev.isthmus.proto.config.ModelVersionPolicy;
import java.util.List;

/** A model's configuration as Triton answers it over REST. */
final class ConfigJson {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ConfigJson() {}

    static byte[] write(ModelConfig config) {
        ObjectNode json = JSON.createObjectNode()
                .put("name", config.getName())
                .put("platform", config.getPlatform())
                .put("backend", config.getBackend());
        policy(json.putObject("version_policy"), config.getVersionPolicy());
        json.put("max_batch_size", config.getMaxBatchSize());
        ArrayNode inputs = json.putArray("input");
        config.getInputList()
                .forEach(input -> tensor(
                        inputs.addObject(), input.getName(), input.getDataType().name(), input.getDimsList()));
        ArrayNode outputs = json.putArray("output");
        config.getOutputList()
                .forEach(output -> tensor(
                        outputs.addObject(),
                        output.getName(),
                        output.getDataType().name(),
                        output.getDimsList()));
        ArrayNode groups = json.putArray("instance_group");
        config.getInstanceGroupList().forEach(group -> group(groups.addObject(), group));
        if (config.hasDynamicBatching()) {
            json.putObject("dynamic_batching")
                    .put(
                            "max_queue_delay_microseconds",
                            config.getDynamicBatching().getMaxQueueDelayMicroseconds());
        }
        ObjectNode parameters = json.putObject("parameters");
        config.getParametersMap()
                .forEach((name, value) -> parameters.putObject(name).put("string_value", value.getStringValue()));
        try {
            return JSON.writeValueAsBytes(json);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void policy(ObjectNode json, ModelVersionPolicy policy) {
        switch (policy.getPolicyChoiceCase()) {
            case LATEST ->
                json.putObject("latest").put("num_versions", policy.getLatest().getNumVersions());
            case ALL -> json.putObject("all");
            case SPECIFIC -> {
                ArrayNode versions = json.putObject("specific").putArray("versions");
                policy.getSpecific().getVersionsList().forEach(versions::add);
            }
            case POLICYCHOICE_NOT_SET -> {}
        }
    }

    private static void tensor(ObjectNode json, String name, String type, List<Long> dims) {
        ArrayNode extents = json.put("name", name).put("data_type", type).putArray("dims");
        dims.forEach(extents::add);
    }

    private static void group(ObjectNode json, ModelInstanceGroup group) {
        ArrayNode gpus = json.put("kind", group.getKind().name())
                .put("count", group.getCount())
                .putArray("gpus");
        group.getGpusList().forEach(gpus::add);
    }
}

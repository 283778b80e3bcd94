package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Message;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.triton.ModelConfig;
import java.io.IOException;

/** The JSON of the model repository extensions. */
public final class RepositoryJson {
    static final JsonForm INDEX_REQUEST = new JsonForm(
            (json, into) -> ((RepositoryIndexRequest.Builder) into).setReady(ready(json.path("ready"))),
            message -> ProtobufJson.object().put("ready", ((RepositoryIndexRequest) message).getReady()));

    /** An array of models, without empty members. */
    static final JsonForm INDEX_RESPONSE = new JsonForm(
            (json, into) -> {
                for (JsonNode model : json) {
                    ((RepositoryIndexResponse.Builder) into)
                            .addModels(ProtobufJson.read(model, RepositoryIndexResponse.ModelIndex.newBuilder())
                                    .build());
                }
            },
            RepositoryJson::index);

    /** The configuration itself, which is nested in the protobuf response. */
    static final JsonForm CONFIG_RESPONSE = new JsonForm(
            (json, into) -> ((ModelConfigResponse.Builder) into)
                    .setConfig(ProtobufJson.read(json, ModelConfig.newBuilder())
                            .build()
                            .toByteString()),
            message -> ProtobufJson.write(ModelConfig.parseFrom(((ModelConfigResponse) message).getConfig())));

    private RepositoryJson() {}

    /** MLServer's clients write null for what is not set. */
    private static boolean ready(JsonNode value) {
        if (value.isBoolean() || value.isMissingNode() || value.isNull()) {
            return value.asBoolean();
        }
        throw OipException.invalid("'ready': true or false is expected, got " + value);
    }

    private static JsonNode index(Message message) {
        ArrayNode models = ProtobufJson.array();
        ((RepositoryIndexResponse) message).getModelsList().forEach(model -> {
            ObjectNode node = models.addObject().put("name", model.getName());
            putIfAny(node, "version", model.getVersion());
            putIfAny(node, "state", plainState(model.getState()));
            putIfAny(node, "reason", model.getReason());
        });
        return models;
    }

    private static void putIfAny(ObjectNode node, String name, String value) {
        if (!value.isEmpty()) {
            node.put(name, value);
        }
    }

    /** MLServer prefixes states with the class name of its enum. */
    private static String plainState(String state) {
        return state.substring(state.lastIndexOf('.') + 1);
    }

    /** Returns a protobuf repository index with the states as all servers write them. */
    public static byte[] plainStates(byte[] content) throws IOException {
        RepositoryIndexResponse.Builder index =
                RepositoryIndexResponse.newBuilder().mergeFrom(content);
        index.getModelsBuilderList().forEach(model -> model.setState(plainState(model.getState())));
        return index.build().toByteArray();
    }
}

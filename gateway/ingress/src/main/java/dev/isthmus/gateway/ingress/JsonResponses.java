package dev.isthmus.gateway.ingress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import java.util.List;
import java.util.Map;

/** The JSON of all responses except inferences. Absent values are omitted, never null. */
final class JsonResponses {
    private static final ObjectMapper JSON = new ObjectMapper();

    private JsonResponses() {}

    static byte[] error(String message) {
        return bytes(JSON.createObjectNode().put("error", message));
    }

    static byte[] live(ReplyMessage.Live message) {
        return bytes(JSON.createObjectNode().put("live", message.live()));
    }

    static byte[] ready(ReplyMessage.Ready message) {
        if (message.ready()) {
            return bytes(JSON.createObjectNode().put("ready", true));
        }
        return error("the server is not ready" + (message.reason().isEmpty() ? "" : ": " + message.reason()));
    }

    static byte[] modelReady(ReplyMessage.ModelReadyState message) {
        return message.ready()
                ? bytes(JSON.createObjectNode()
                        .put("name", message.model().name())
                        .put("ready", true))
                : error("model " + message.model() + " is not ready");
    }

    static byte[] server(ServerMetadata metadata) {
        ObjectNode node = JSON.createObjectNode().put("name", metadata.name()).put("version", metadata.version());
        ArrayNode extensions = node.putArray("extensions");
        metadata.extensions().forEach(extensions::add);
        return bytes(node);
    }

    static byte[] model(ModelMetadata metadata) {
        ObjectNode node = JSON.createObjectNode().put("name", metadata.name());
        if (!metadata.versions().isEmpty()) {
            ArrayNode versions = node.putArray("versions");
            metadata.versions().forEach(versions::add);
        }
        node.put("platform", metadata.platform());
        tensors(node.putArray("inputs"), metadata.inputs());
        tensors(node.putArray("outputs"), metadata.outputs());
        parameters(node, metadata.parameters());
        if (!metadata.properties().isEmpty()) {
            metadata.properties().forEach(node.putObject("properties")::put);
        }
        return bytes(node);
    }

    private static void tensors(ArrayNode into, List<ModelMetadata.TensorMetadata> tensors) {
        for (ModelMetadata.TensorMetadata tensor : tensors) {
            ObjectNode node = into.addObject().put("name", tensor.name()).put("datatype", tensor.dataType());
            ArrayNode shape = node.putArray("shape");
            tensor.shape().toList().forEach(shape::add);
            parameters(node, tensor.parameters());
        }
    }

    private static void parameters(ObjectNode into, Map<String, Parameter> parameters) {
        if (parameters.isEmpty()) {
            return;
        }
        ObjectNode node = into.putObject("parameters");
        parameters.forEach((name, parameter) -> {
            switch (parameter) {
                case Parameter.Bool bool -> node.put(name, bool.value());
                case Parameter.Int64 int64 -> node.put(name, int64.value());
                case Parameter.Uint64 uint64 ->
                    node.put(name, new java.math.BigInteger(Long.toUnsignedString(uint64.value())));
                case Parameter.Float64 float64 -> node.put(name, float64.value());
                case Parameter.Text text -> node.put(name, text.value());
                case Parameter.Json json -> node.putRawValue(name, new RawValue(json.text()));
            }
        });
    }

    private static byte[] bytes(ObjectNode node) {
        try {
            return JSON.writeValueAsBytes(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot serialize a tree of plain values", e);
        }
    }
}

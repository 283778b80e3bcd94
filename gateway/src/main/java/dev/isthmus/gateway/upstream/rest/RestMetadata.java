package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Metadata as servers write it in JSON; null stands for absent, as KServe and MLServer use it. */
final class RestMetadata {
    private static final ObjectMapper JSON = new ObjectMapper();

    private RestMetadata() {}

    static ServerMetadata server(byte[] json) {
        JsonNode node = read(json);
        return new ServerMetadata(
                node.path("name").asText(""), node.path("version").asText(""), strings(node.path("extensions")));
    }

    static ModelMetadata model(byte[] json) {
        JsonNode node = read(json);
        return new ModelMetadata(
                node.path("name").asText(""),
                strings(node.path("versions")),
                node.path("platform").isTextual() ? node.path("platform").textValue() : "",
                tensors(node.path("inputs")),
                tensors(node.path("outputs")),
                parameters(node.path("parameters")));
    }

    private static JsonNode read(byte[] json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's metadata is malformed JSON", e);
        }
    }

    private static List<String> strings(JsonNode array) {
        List<String> strings = new ArrayList<>();
        array.forEach(item -> strings.add(item.asText()));
        return strings;
    }

    private static List<ModelMetadata.TensorMetadata> tensors(JsonNode array) {
        List<ModelMetadata.TensorMetadata> tensors = new ArrayList<>();
        for (JsonNode item : array) {
            List<Long> extents = new ArrayList<>();
            item.path("shape").forEach(extent -> extents.add(extent.asLong()));
            tensors.add(new ModelMetadata.TensorMetadata(
                    item.path("name").asText(""),
                    item.path("datatype").asText(""),
                    Shape.of(extents.stream().mapToLong(Long::longValue).toArray()),
                    parameters(item.path("parameters"))));
        }
        return tensors;
    }

    /** Objects and arrays among the parameters have no place in the protocol and are left out. */
    private static Map<String, Parameter> parameters(JsonNode object) {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        object.properties().forEach(property -> {
            JsonNode value = property.getValue();
            if (value.isTextual()) {
                parameters.put(property.getKey(), new Parameter.Text(value.textValue()));
            } else if (value.isBoolean()) {
                parameters.put(property.getKey(), new Parameter.Bool(value.booleanValue()));
            } else if (value.canConvertToLong() && value.isIntegralNumber()) {
                parameters.put(property.getKey(), new Parameter.Int64(value.longValue()));
            } else if (value.isNumber()) {
                parameters.put(property.getKey(), new Parameter.Float64(value.doubleValue()));
            }
        });
        return parameters;
    }
}

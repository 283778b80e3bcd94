package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads metadata from JSON. Null or missing fields are empty: KServe writes null for unknown values. */
final class MetadataJson {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final BigInteger UINT64_MAX = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);

    private MetadataJson() {}

    /**
     * Reads server metadata.
     *
     * @param body borrowed
     */
    static ServerMetadata server(ByteBuf body) throws IOException {
        JsonNode json = object(body);
        return new ServerMetadata(text(json, "name"), text(json, "version"), texts(json, "extensions"));
    }

    /**
     * Reads model metadata.
     *
     * @param body borrowed
     */
    static ModelMetadata model(ByteBuf body) throws IOException {
        JsonNode json = object(body);
        return new ModelMetadata(
                text(json, "name"),
                texts(json, "versions"),
                text(json, "platform"),
                tensors(json, "inputs"),
                tensors(json, "outputs"),
                parameters(json.path("parameters")),
                properties(json.path("properties")));
    }

    private static Map<String, String> properties(JsonNode json) {
        Map<String, String> properties = new LinkedHashMap<>();
        json.properties().stream()
                .filter(property -> property.getValue().isValueNode()
                        && !property.getValue().isNull())
                .forEach(property ->
                        properties.put(property.getKey(), property.getValue().asText()));
        return properties;
    }

    private static JsonNode object(ByteBuf body) throws IOException {
        JsonNode json;
        try (var stream = new ByteBufInputStream(body.slice())) {
            json = JSON.readTree((InputStream) stream);
        }
        if (!json.isObject()) {
            throw new JsonParseException(null, "metadata must be a JSON object, got " + json.getNodeType());
        }
        return json;
    }

    private static String text(JsonNode json, String field) {
        JsonNode value = json.path(field);
        return value.isNull() ? "" : value.asText("");
    }

    private static List<String> texts(JsonNode json, String field) {
        List<String> texts = new ArrayList<>();
        json.path(field).forEach(value -> texts.add(value.asText()));
        return texts;
    }

    private static List<ModelMetadata.TensorMetadata> tensors(JsonNode json, String field) throws IOException {
        List<ModelMetadata.TensorMetadata> tensors = new ArrayList<>();
        for (JsonNode tensor : json.path(field)) {
            tensors.add(new ModelMetadata.TensorMetadata(
                    text(tensor, "name"),
                    text(tensor, "datatype"),
                    shape(tensor.path("shape")),
                    parameters(tensor.path("parameters"))));
        }
        return tensors;
    }

    /** Extents; also accepts strings, as in protobuf's JSON format, which some bridges send. */
    private static Shape shape(JsonNode json) throws IOException {
        long[] extents = new long[json.size()];
        for (int i = 0; i < extents.length; i++) {
            JsonNode extent = json.get(i);
            try {
                extents[i] = Long.parseLong(extent.asText());
            } catch (NumberFormatException e) {
                throw new JsonParseException(null, "extent must be an integer, got " + extent, e);
            }
        }
        return Shape.of(extents);
    }

    private static Map<String, Parameter> parameters(JsonNode json) {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        json.properties()
                .forEach(
                        entry -> parameter(entry.getValue()).ifPresent(value -> parameters.put(entry.getKey(), value)));
        return parameters;
    }

    /** The parameter; empty for values a parameter cannot have: null, arrays, objects, integers beyond 64 bits. */
    private static Optional<Parameter> parameter(JsonNode value) {
        return switch (value.getNodeType()) {
            case BOOLEAN -> Optional.of(new Parameter.Bool(value.booleanValue()));
            case STRING -> Optional.of(new Parameter.Text(value.textValue()));
            case NUMBER -> number(value);
            case ARRAY, BINARY, MISSING, NULL, OBJECT, POJO -> Optional.empty();
        };
    }

    private static Optional<Parameter> number(JsonNode value) {
        if (!value.isIntegralNumber()) {
            return Optional.of(new Parameter.Float64(value.doubleValue()));
        }
        if (value.canConvertToLong()) {
            return Optional.of(new Parameter.Int64(value.longValue()));
        }
        BigInteger integer = value.bigIntegerValue();
        return integer.signum() > 0 && integer.compareTo(UINT64_MAX) <= 0
                ? Optional.of(new Parameter.Uint64(integer.longValue()))
                : Optional.empty();
    }
}

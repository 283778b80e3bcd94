package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.openapi.ExampleRequest;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.math.BigInteger;
import java.util.Collections;
import org.jspecify.annotations.Nullable;

/**
 * An input as the page's form has it.
 *
 * @param data null for zeros
 */
record TryItInput(
        String name, DataType type, Shape shape, @Nullable ArrayNode data) {
    /** The elements of an input that is filled with zeros. */
    static final long MAX_ZEROS = 1 << 21;

    static final ObjectMapper JSON = new ObjectMapper()
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    /**
     * @param node {@code {"name", "datatype", "shape", "data"}}; {@code data} is the text of the form
     * @throws OipException INVALID_ARGUMENT
     */
    static TryItInput of(JsonNode node) {
        String name = node.path("name").asText();
        String datatype = node.path("datatype").asText();
        DataType type = DataType.byName(datatype)
                .orElseThrow(() -> OipException.invalid(
                        "input '" + name + "': a datatype of the protocol is expected, got '" + datatype + "'"));
        String text = node.path("data").asText().strip();
        Shape shape = shape(name, node.path("shape"));
        TryItInput input = new TryItInput(name, type, shape, text.isEmpty() ? null : data(name, type, text));
        if (input.data == null && input.elements() > MAX_ZEROS) {
            throw OipException.invalid("input '" + name + "': shape " + shape + " has more than " + MAX_ZEROS
                    + " elements, which is the limit of this page");
        }
        return input;
    }

    private static Shape shape(String name, JsonNode node) {
        long[] extents = new long[node.size()];
        for (int i = 0; i < extents.length; i++) {
            JsonNode extent = node.path(i);
            if (!extent.isIntegralNumber()
                    || !extent.canConvertToLong()
                    || extent.asLong() < 0
                    || extents.length > Shape.MAX_RANK) {
                throw OipException.invalid("input '" + name + "': a shape of at most " + Shape.MAX_RANK
                        + " sizes of 0 or more is expected, got " + node);
            }
            extents[i] = extent.asLong();
        }
        return Shape.of(extents);
    }

    /** JSON; without brackets too, and for BYTES also one text per line. */
    private static ArrayNode data(String name, DataType type, String text) {
        if (type == DataType.BYTES && !text.startsWith("[") && !text.startsWith("\"")) {
            ArrayNode lines = JSON.createArrayNode();
            text.lines().forEach(lines::add);
            return lines;
        }
        try {
            JsonNode data = JSON.readTree(text.startsWith("[") ? text : "[" + text + "]");
            if (data instanceof ArrayNode array) {
                return array;
            }
        } catch (JsonProcessingException e) {
            throw OipException.invalid(
                    "input '" + name + "': data: a JSON array is expected: " + e.getOriginalMessage());
        }
        throw OipException.invalid("input '" + name + "': data: a JSON array is expected");
    }

    /** The number of elements that the shape says; more than any limit if it does not fit into a long. */
    long elements() {
        try {
            return shape.elementCount();
        } catch (ArithmeticException tooMany) {
            return Long.MAX_VALUE;
        }
    }

    ObjectNode json() {
        ObjectNode node = head();
        node.set("data", data != null ? data : zeros());
        return node;
    }

    ObjectNode head() {
        ObjectNode node = JSON.createObjectNode().put("name", name).put("datatype", type.name());
        ArrayNode extents = node.putArray("shape");
        shape.toList().forEach(extents::add);
        return node;
    }

    private ArrayNode zeros() {
        return JSON.createArrayNode().addAll(Collections.nCopies((int) elements(), ExampleRequest.zero(type)));
    }

    /** A number that a browser would round, as text; any other value as it is. */
    static JsonNode exact(JsonNode value) {
        boolean rounded =
                value.isIntegralNumber() && value.bigIntegerValue().abs().compareTo(BigInteger.ONE.shiftLeft(53)) > 0;
        return rounded ? JSON.getNodeFactory().textNode(value.asText()) : value;
    }
}

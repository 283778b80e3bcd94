package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.math.BigInteger;
import java.util.Optional;

/** The schemas of the inputs or the outputs of a model. */
final class TensorSchemas {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final boolean output;

    /** @param output whether they describe outputs, which may lack data and have null for NaN */
    TensorSchemas(boolean output) {
        this.output = output;
    }

    /** The schema of one tensor in JSON. */
    ObjectNode of(TensorMetadata tensor) {
        ObjectNode schema = JSON.objectNode()
                .put("description", tensor.name() + ": " + tensor.dataType() + " " + tensor.shape())
                .put("type", "object");
        ArrayNode required =
                schema.putArray("required").add("name").add("shape").add("datatype");
        if (!output) {
            required.add("data");
        }
        ObjectNode properties = schema.putObject("properties");
        constant(properties.putObject("name"), tensor.name());
        properties.set("shape", shape(tensor.shape()));
        constant(properties.putObject("datatype"), tensor.dataType());
        properties.set("parameters", ProtocolSchemas.reference("Parameters"));
        properties.set("data", data(tensor));
        return schema;
    }

    private static void constant(ObjectNode schema, String value) {
        schema.put("type", "string").put("const", value);
    }

    /** Fixed dimensions have their extent, those of variable size any. */
    private static ObjectNode shape(Shape shape) {
        ObjectNode schema = JSON.objectNode()
                .put("description", shape + "; -1 is a dimension of variable size")
                .put("type", "array")
                .put("minItems", shape.rank())
                .put("maxItems", shape.rank());
        if (shape.rank() > 0) {
            ArrayNode extents = schema.putArray("prefixItems");
            for (long extent : shape.toArray()) {
                ObjectNode each = extents.addObject().put("type", "integer").put("minimum", Math.max(0, extent));
                if (extent >= 0) {
                    // Not 'const', which generators of clients apply to all extents.
                    each.put("maximum", extent);
                }
            }
        }
        schema.putObject("items").put("type", "integer").put("minimum", 0);
        return schema;
    }

    /** Flat, or nested as the shape says. */
    private ObjectNode data(TensorMetadata tensor) {
        ObjectNode flat = JSON.objectNode().put("type", "array");
        flat.set("items", element(tensor.dataType()));
        if (tensor.shape().rank() < 2) {
            return flat;
        }
        ObjectNode schema = JSON.objectNode();
        schema.putArray("anyOf").add(flat).add(nested(tensor, 0));
        return schema;
    }

    private ObjectNode nested(TensorMetadata tensor, int dimension) {
        if (dimension == tensor.shape().rank()) {
            return element(tensor.dataType());
        }
        ObjectNode schema = JSON.objectNode().put("type", "array");
        long extent = tensor.shape().extent(dimension);
        if (extent >= 0) {
            schema.put("minItems", extent).put("maxItems", extent);
        }
        schema.set("items", nested(tensor, dimension + 1));
        return schema;
    }

    private ObjectNode element(String dataType) {
        ObjectNode schema = JSON.objectNode();
        Optional<DataType> known = DataType.byName(dataType);
        if (known.isEmpty()) {
            return schema;
        }
        DataType type = known.get();
        return switch (type) {
            case BOOL -> schema.put("type", "boolean");
            case UINT8, UINT16, UINT32, UINT64 -> integer(schema, false, type.size() * Byte.SIZE);
            case INT8, INT16, INT32, INT64 -> integer(schema, true, type.size() * Byte.SIZE);
            case FP16, BF16 -> number(schema);
            case FP32 -> number(schema).put("format", "float");
            case FP64 -> number(schema).put("format", "double");
            case BYTES -> schema.put("type", "string");
        };
    }

    private static ObjectNode integer(ObjectNode schema, boolean signed, int bits) {
        BigInteger values = BigInteger.ONE.shiftLeft(signed ? bits - 1 : bits);
        schema.put("type", "integer");
        if (signed && bits >= Integer.SIZE) {
            schema.put("format", "int" + bits);
        }
        return schema.put("minimum", signed ? values.negate() : BigInteger.ZERO)
                .put("maximum", values.subtract(BigInteger.ONE));
    }

    private ObjectNode number(ObjectNode schema) {
        if (output) {
            schema.putArray("type").add("number").add("null");
            return schema;
        }
        return schema.put("type", "number");
    }
}

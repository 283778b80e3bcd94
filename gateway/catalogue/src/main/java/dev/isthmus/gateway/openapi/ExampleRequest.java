package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.ValueNode;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.Collections;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * An inference request for a model, made from its metadata: every dimension of variable size is 1, every element zero.
 *
 * @param document the request as JSON; empty if there is none
 * @param obstacle why there is no example; empty if there is one
 */
public record ExampleRequest(Optional<ObjectNode> document, String obstacle) {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    /** The text in BYTES tensors; models that read numbers in texts accept it, too. */
    private static final String TEXT = "0";

    /**
     * The example of a model.
     *
     * @param maxElements of all inputs together
     */
    public static ExampleRequest of(ModelMetadata model, long maxElements) {
        if (model.inputs().isEmpty()) {
            return none("the model's metadata name no inputs");
        }
        ObjectNode request = JSON.objectNode();
        ArrayNode inputs = request.putArray("inputs");
        long left = maxElements;
        for (TensorMetadata input : model.inputs()) {
            Optional<DataType> type = DataType.byName(input.dataType());
            if (type.isEmpty()) {
                return none("input '" + input.name() + "' has the unknown datatype " + input.dataType());
            }
            Shape shape = shape(input.shape());
            long count = elements(shape, left);
            if (count > left) {
                return none("the inputs have more than " + maxElements + " elements");
            }
            left -= count;
            inputs.add(input(input.name(), type.get(), shape, (int) count));
        }
        return new ExampleRequest(Optional.of(request), "");
    }

    private static ExampleRequest none(String obstacle) {
        return new ExampleRequest(Optional.empty(), obstacle);
    }

    /** The smallest shape that fits one in metadata: 1 for each dimension of variable size. */
    public static Shape shape(Shape declared) {
        return Shape.of(LongStream.of(declared.toArray())
                .map(extent -> extent < 0 ? 1 : extent)
                .toArray());
    }

    private static long elements(Shape shape, long most) {
        try {
            return shape.elementCount();
        } catch (ArithmeticException tooMany) {
            return most + 1;
        }
    }

    private static ObjectNode input(String name, DataType type, Shape shape, int count) {
        ObjectNode input = JSON.objectNode().put("name", name).put("datatype", type.name());
        ArrayNode extents = input.putArray("shape");
        shape.toList().forEach(extents::add);
        ArrayNode data = input.putArray("data");
        data.addAll(Collections.nCopies(count, zero(type)));
        return input;
    }

    /** The element that examples are filled with. */
    public static ValueNode zero(DataType type) {
        return switch (type) {
            case BOOL -> JSON.booleanNode(false);
            case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64 -> JSON.numberNode(0);
            case FP16, BF16, FP32, FP64 -> JSON.numberNode(0.0);
            case BYTES -> JSON.textNode(TEXT);
        };
    }
}

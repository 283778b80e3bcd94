package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.OperationKind.ModelAction;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Describes the paths of one model, with the schemas of its inputs and outputs and an example.
 *
 * @param path of the model or of one of its versions
 */
record ModelApi(ApiDocument document, String path, ModelMetadata metadata) {
    private static final List<String> ACTIONS =
            List.of("", ModelAction.READY.suffix(), ModelAction.INFER.suffix(), ModelAction.INFER_STREAM.suffix());
    private static final String OUTPUT = "Output";
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    /** More would make a document that is mostly zeros. */
    private static final long MAX_EXAMPLE_ELEMENTS = 4096;

    void describe() {
        ExampleRequest example = ExampleRequest.of(metadata, MAX_EXAMPLE_ELEMENTS);
        document.schema("ModelInferRequest", request(example.obstacle()));
        document.schema("ModelInferResponse", tensors("InferResponse", OUTPUT, metadata.outputs()));
        document.schema("ModelInferResponseEvent", own(ApiDocument.schema("InferResponseEvent")));
        for (String action : ACTIONS) {
            ObjectNode operations = own(ApiDocument.operations(ModelAction.MODEL + action));
            if (operations.at("/post/requestBody/content/application~1json") instanceof ObjectNode body) {
                example.document().ifPresent(request -> body.set("example", request));
            }
            document.add(path + action, operations);
        }
    }

    /** With the schemas of this model's messages in place of those of any model. */
    private static ObjectNode own(ObjectNode part) {
        part.findParents("$ref")
                .forEach(each -> ((ObjectNode) each)
                        .put("$ref", each.path("$ref").asText().replace("/schemas/Infer", "/schemas/ModelInfer")));
        return part;
    }

    private ObjectNode request(String obstacle) {
        ObjectNode schema = tensors("InferRequest", "Input", metadata.inputs());
        return obstacle.isEmpty() ? schema : schema.put("$comment", "no example: " + obstacle);
    }

    /** The schema of a message, with that of the model's tensors. */
    private ObjectNode tensors(String message, String kind, List<TensorMetadata> tensors) {
        ObjectNode schema = ApiDocument.schema(message);
        ((ObjectNode) schema.get("properties"))
                .set(
                        kind.toLowerCase(Locale.ROOT) + "s",
                        tensors(kind, tensors, new TensorSchemas(kind.equals(OUTPUT))));
        return schema;
    }

    /** The array of the model's inputs or outputs, in any order; of any tensors if the metadata name none. */
    private ObjectNode tensors(String kind, List<TensorMetadata> tensors, TensorSchemas schemas) {
        ObjectNode array = JSON.objectNode().put("type", "array");
        if (tensors.isEmpty()) {
            array.set("items", ApiDocument.reference("Infer" + kind));
            return array;
        }
        array.put("maxItems", tensors.size());
        List<ObjectNode> references = new ArrayList<>();
        ObjectNode mapping = JSON.objectNode();
        for (int i = 0; i < tensors.size(); i++) {
            TensorMetadata tensor = tensors.get(i);
            String name = schemaName(kind, tensor.name(), i);
            references.add(document.schema(name, schemas.of(tensor)));
            mapping.put(tensor.name(), references.getLast().path("$ref").asText());
        }
        if (references.size() == 1) {
            array.set("items", references.getFirst());
            return array;
        }
        ObjectNode items = array.putObject("items");
        ArrayNode alternatives = items.putArray("oneOf");
        references.forEach(alternatives::add);
        items.putObject("discriminator").put("propertyName", "name").set("mapping", mapping);
        return array;
    }

    /** Names of components have fewer characters than names of tensors. */
    private static String schemaName(String kind, String tensor, int index) {
        boolean plain = !tensor.isEmpty()
                && tensor.chars()
                        .allMatch(c -> c == '_' || c == '-' || c == '.' || (c < 0x80 && Character.isLetterOrDigit(c)));
        return plain ? kind + "_" + tensor : kind + "." + index;
    }

    /**
     * The schemas of the inputs or the outputs of a model.
     *
     * @param output whether they describe outputs, which may lack data and have null for NaN
     */
    record TensorSchemas(boolean output) {
        private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

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
            properties.set("parameters", ApiDocument.reference("Parameters"));
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

        /** Empty for a datatype that is none of the protocol's. */
        private ObjectNode element(String dataType) {
            ObjectNode schema = ApiDocument.element(dataType);
            if (output && schema.path("type").asText().equals("number")) {
                schema.putArray("type").add("number").add("null");
            }
            return schema;
        }
    }
}

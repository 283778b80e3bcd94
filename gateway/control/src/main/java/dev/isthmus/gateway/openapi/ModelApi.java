package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.ModelAction;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.util.ArrayList;
import java.util.List;

/** Describes the paths of one model, with the schemas of its inputs and outputs and an example. */
final class ModelApi {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    /** More would make a document that is mostly zeros. */
    private static final long MAX_EXAMPLE_ELEMENTS = 4096;

    private final ApiDocument document;
    private final String path;
    private final ModelMetadata metadata;

    /** @param path of the model or of one of its versions */
    ModelApi(ApiDocument document, String path, ModelMetadata metadata) {
        this.document = document;
        this.path = path;
        this.metadata = metadata;
    }

    void describe() {
        document.operation(false, path, "modelMetadata", "metadata", "The model's metadata")
                .answers(document.schema("ModelMetadata"));
        ExampleRequest example = ExampleRequest.of(metadata, MAX_EXAMPLE_ELEMENTS);
        ObjectNode request = document.schema("ModelInferRequest", request(example.obstacle()));
        ObjectNode response = document.schema("ModelInferResponse", response());
        operation(ModelAction.READY, "modelReady", "health", "Whether the model is ready")
                .answers(document.schema("ModelReady"));
        infer(ModelAction.INFER, "infer", "An inference", request, example).answersInference(response);
        infer(ModelAction.INFER_STREAM, "inferStream", "An inference with any number of responses", request, example)
                .answersEvents(document.events(response));
    }

    private ApiDocument.ApiOperation infer(
            ModelAction action, String id, String summary, ObjectNode request, ExampleRequest example) {
        ApiDocument.ApiOperation operation =
                operation(action, id, "inference", summary).inference(request);
        example.document().ifPresent(operation::example);
        return operation;
    }

    private ApiDocument.ApiOperation operation(ModelAction action, String id, String tag, String summary) {
        return document.operation(action.post(), path + "/" + action.segment(), id, tag, summary);
    }

    private ObjectNode request(String obstacle) {
        ObjectNode schema = JSON.objectNode().put("type", "object");
        if (!obstacle.isEmpty()) {
            schema.put("$comment", "no example: " + obstacle);
        }
        schema.putArray("required").add("inputs");
        ObjectNode properties = schema.putObject("properties");
        properties.putObject("id").put("type", "string");
        properties.set("parameters", document.schema("Parameters"));
        properties.set("inputs", tensors("Input", metadata.inputs(), new TensorSchemas(false)));
        ObjectNode outputs =
                properties.putObject("outputs").put("description", "The outputs to return; all if absent.");
        outputs.put("type", "array").set("items", document.schema("RequestedOutput"));
        return schema;
    }

    private ObjectNode response() {
        ObjectNode schema = JSON.objectNode().put("type", "object");
        schema.putArray("required").add("model_name").add("outputs");
        ObjectNode properties = schema.putObject("properties");
        properties.putObject("model_name").put("type", "string");
        properties.putObject("model_version").put("type", "string");
        properties.putObject("id").put("type", "string");
        properties.set("parameters", document.schema("Parameters"));
        properties.set("outputs", tensors("Output", metadata.outputs(), new TensorSchemas(true)));
        return schema;
    }

    /** The array of the model's inputs or outputs, in any order; of any tensors if the metadata name none. */
    private ObjectNode tensors(String kind, List<TensorMetadata> tensors, TensorSchemas schemas) {
        ObjectNode array = JSON.objectNode().put("type", "array");
        if (tensors.isEmpty()) {
            array.set("items", document.schema("Infer" + kind));
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
}

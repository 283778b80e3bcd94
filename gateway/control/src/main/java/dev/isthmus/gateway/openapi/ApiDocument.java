package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.NameGrammar;
import java.util.Locale;

/** An OpenAPI 3.1 document that is being written. Schemas are added when something refers to them. */
final class ApiDocument {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final String JSON_TYPE = "application/json";
    private static final String BINARY_TYPE = "application/octet-stream";
    private static final String EVENTS_TYPE = "text/event-stream";
    private static final String JSON_LENGTH = "Inference-Header-Content-Length";

    private final ProtocolSchemas known;
    private final ObjectNode root = JSON.objectNode();
    private final ObjectNode paths;
    private final ObjectNode schemas;

    ApiDocument(String title, String version, String description, ProtocolSchemas known) {
        this.known = known;
        root.put("openapi", "3.1.0");
        root.putObject("info").put("title", title).put("version", version).put("description", description);
        root.putArray("servers").addObject().put("url", "/");
        paths = root.putObject("paths");
        ObjectNode components = root.putObject("components");
        schemas = components.putObject("schemas");
        components
                .putObject("responses")
                .putObject("Error")
                .put("description", "A failure. The status says of which kind, the text why.")
                .putObject("content")
                .putObject(JSON_TYPE)
                .set("schema", schema("Error"));
    }

    ObjectNode root() {
        return root;
    }

    /** The reference to a schema of the protocol, which is added. */
    ObjectNode schema(String name) {
        known.copy(name, schemas);
        return ProtocolSchemas.reference(name);
    }

    /** Adds a schema, and returns the reference to it. */
    ObjectNode schema(String name, ObjectNode schema) {
        schemas.set(name, schema);
        return ProtocolSchemas.reference(name);
    }

    /** An operation that is being written. */
    static final class ApiOperation {
        private final ObjectNode node;
        private final ObjectNode responses;

        private ApiOperation(ObjectNode node) {
            this.node = node;
            this.responses = node.putObject("responses");
            responses.putObject("default").put("$ref", "#/components/responses/Error");
        }

        /** The request's body. */
        ApiOperation body(JsonNode schema, boolean required) {
            content(node.putObject("requestBody").put("required", required), JSON_TYPE, schema);
            return this;
        }

        /** The body of an inference: JSON, or JSON with binary data. */
        ApiOperation inference(JsonNode schema) {
            ObjectNode body = node.putObject("requestBody").put("required", true);
            content(body, JSON_TYPE, schema);
            content(body, BINARY_TYPE, binary());
            ArrayNode parameters = parameters();
            parameters
                    .addObject()
                    .put("name", JSON_LENGTH)
                    .put("in", "header")
                    .put("required", false)
                    .put(
                            "description",
                            "The length in bytes of the JSON in front of binary data; 0 for a body that is the data of"
                                    + " the only input.")
                    .set("schema", JSON.objectNode().put("type", "integer").put("minimum", 0));
            parameters
                    .addObject()
                    .put("name", "X-Request-Timeout-Ms")
                    .put("in", "header")
                    .put("required", false)
                    .put("description", "The time that the call may take, in milliseconds.")
                    .set("schema", JSON.objectNode().put("type", "integer").put("minimum", 1));
            return this;
        }

        /** The example in the request's body. */
        void example(ObjectNode request) {
            ((ObjectNode) node.at("/requestBody/content/application~1json")).set("example", request);
        }

        /** A response without a body. */
        ApiOperation answers() {
            responses.putObject("200").put("description", "Done.");
            return this;
        }

        /** A response of JSON. */
        ApiOperation answers(JsonNode schema) {
            content(responses.putObject("200").put("description", "Success."), JSON_TYPE, schema);
            return this;
        }

        /** A response of JSON, or of JSON with binary data. */
        ApiOperation answersInference(JsonNode schema) {
            answers(schema);
            ObjectNode success = (ObjectNode) responses.get("200");
            content(success, BINARY_TYPE, binary());
            success.putObject("headers")
                    .putObject(JSON_LENGTH)
                    .put("description", "The length in bytes of the JSON in front of binary data, if there are any.")
                    .set("schema", JSON.objectNode().put("type", "integer").put("minimum", 0));
            return this;
        }

        /** Server-sent events, as {@link ApiDocument#events} describes them. */
        ApiOperation answersEvents(JsonNode events) {
            content(
                    responses
                            .putObject("200")
                            .put("description", "Server-sent events; the data of each one is a response in JSON."),
                    EVENTS_TYPE,
                    events);
            return this;
        }

        /** No credential is needed. */
        ApiOperation open() {
            node.putArray("security");
            return this;
        }

        private ArrayNode parameters() {
            return node.withArray("parameters");
        }
    }

    /** The text of server-sent events whose data are this response (a reference), or an error, in JSON. */
    ObjectNode events(ObjectNode response) {
        String of = response.path("$ref").asText();
        ObjectNode event = JSON.objectNode().put("type", "object");
        event.putArray("required").add("data");
        ObjectNode data = event.putObject("properties").putObject("data");
        data.put("type", "string").put("contentMediaType", JSON_TYPE);
        data.putObject("contentSchema").putArray("anyOf").add(response).add(schema("Error"));
        ObjectNode text = JSON.objectNode().put("type", "string").put("contentMediaType", EVENTS_TYPE);
        text.putObject("contentSchema")
                .put("type", "array")
                .set("items", schema(of.substring(of.lastIndexOf('/') + 1) + "Event", event));
        return text;
    }

    private static ObjectNode binary() {
        return JSON.objectNode()
                .put("description", "JSON, followed by the binary data of the tensors that say so.")
                .put("type", "string")
                .put("format", "binary");
    }

    private static void content(ObjectNode body, String type, JsonNode schema) {
        body.withObject("/content").putObject(type).set("schema", schema);
    }

    /**
     * Adds an operation.
     *
     * @param path with its parameters in braces
     */
    ApiOperation operation(boolean post, String path, String id, String tag, String summary) {
        String method = (post ? "POST" : "GET").toLowerCase(Locale.ROOT);
        ObjectNode item = paths.has(path) ? (ObjectNode) paths.get(path) : paths.putObject(path);
        ObjectNode node = item.putObject(method).put("operationId", id).put("summary", summary);
        node.putArray("tags").add(tag);
        for (String segment : path.split("/", -1)) {
            if (segment.startsWith("{")) {
                pathParameter(node.withArray("parameters"), segment.substring(1, segment.length() - 1));
            }
        }
        return new ApiOperation(node);
    }

    private static void pathParameter(ArrayNode parameters, String name) {
        parameters
                .addObject()
                .put("name", name)
                .put("in", "path")
                .put("required", true)
                .set(
                        "schema",
                        JSON.objectNode()
                                .put("type", "string")
                                .put("minLength", 1)
                                .put("maxLength", NameGrammar.MAX_BYTES)
                                .put("pattern", NameGrammar.PATTERN));
    }
}

package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.DataType;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;

/**
 * An OpenAPI 3.1 document that is being written. What is the same in all of them comes from {@code template.json}: the
 * paths of a gateway without extensions, and the schemas of all messages.
 */
final class ApiDocument {
    private static final String SCHEMAS = "/components/schemas/";

    private final ObjectNode root = JsonNodeFactory.instance.objectNode().put("openapi", "3.1.0");
    private final ObjectNode paths;
    private final ObjectNode schemas;

    /** Read when the first document is made, not at the start. Nobody changes it. */
    private static final class Template {
        static final JsonNode ROOT = read();

        private static JsonNode read() {
            try (InputStream in = Objects.requireNonNull(ApiDocument.class.getResourceAsStream("template.json"))) {
                JsonNode all = new ObjectMapper().readTree(in);
                ArrayNode datatypes = ((ObjectNode) all.at(SCHEMAS + "Datatype")).putArray("enum");
                for (DataType type : DataType.values()) {
                    datatypes.add(type.name());
                }
                return all;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    ApiDocument(String title, String version, String description) {
        root.putObject("info").put("title", title).put("version", version).put("description", description);
        root.putArray("servers").addObject().put("url", "/");
        paths = root.putObject("paths");
        schemas = root.putObject("components").putObject("schemas");
    }

    /** A copy of the template's operations of a path, by method. */
    static ObjectNode operations(String path) {
        return Template.ROOT.path("paths").required(path).deepCopy();
    }

    /** Whether the template has a schema of this name. */
    static boolean hasSchema(String name) {
        return Template.ROOT.at(SCHEMAS + name).isObject();
    }

    /** A copy of a schema of the template. */
    static ObjectNode schema(String name) {
        return Template.ROOT.requiredAt(SCHEMAS + name).deepCopy();
    }

    /** A copy of the template's schema of an element; empty for an unknown datatype. */
    static ObjectNode element(String dataType) {
        return Template.ROOT.at("/elements/" + dataType) instanceof ObjectNode element
                ? element.deepCopy()
                : JsonNodeFactory.instance.objectNode();
    }

    /** The reference to a schema, of this document or of the template. */
    static ObjectNode reference(String schema) {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#" + SCHEMAS + schema);
    }

    /** Adds a schema, and returns the reference to it. */
    ObjectNode schema(String name, ObjectNode schema) {
        schemas.set(name, schema);
        return reference(name);
    }

    /**
     * Adds operations, by method.
     *
     * @param path with its parameters in braces
     */
    void add(String path, ObjectNode operations) {
        for (JsonNode operation : operations) {
            for (String segment : path.split("/", -1)) {
                if (segment.startsWith("{")) {
                    ((ObjectNode) operation)
                            .withArray("parameters")
                            .add(pathParameter(segment.substring(1, segment.length() - 1)));
                }
            }
        }
        paths.withObjectProperty(path).setAll(operations);
    }

    private static ObjectNode pathParameter(String name) {
        ObjectNode parameter = JsonNodeFactory.instance
                .objectNode()
                .put("name", name)
                .put("in", "path")
                .put("required", true);
        parameter
                .putObject("schema")
                .put("type", "string")
                .put("minLength", 1)
                .put("maxLength", NameGrammar.MAX_BYTES)
                .put("pattern", NameGrammar.PATTERN);
        return parameter;
    }

    /** The document, with all that it refers to. */
    ObjectNode complete() {
        addReferred(root);
        return root;
    }

    private void addReferred(JsonNode part) {
        for (String reference : part.findValuesAsText("$ref")) {
            JsonPointer at = JsonPointer.compile(reference.substring(1));
            if (root.at(at).isMissingNode()) {
                JsonNode component = Template.ROOT.requiredAt(at);
                root.withObject(at.head()).set(at.last().getMatchingProperty(), component);
                addReferred(component);
            }
        }
    }
}

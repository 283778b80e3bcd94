package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.oip.DataType;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;

/** The schemas of the protocol's messages, from {@code schemas.json}. Nobody changes them. */
final class ProtocolSchemas {
    private static final String REFERENCE = "#/components/schemas/";

    private final JsonNode all;

    /** Read when the first document is made, not at the start. */
    private static final class Holder {
        static final ProtocolSchemas INSTANCE = new ProtocolSchemas();
    }

    private ProtocolSchemas() {
        try (InputStream in = Objects.requireNonNull(ProtocolSchemas.class.getResourceAsStream("schemas.json"))) {
            all = new ObjectMapper().readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        ArrayNode datatypes = ((ObjectNode) all.get("Datatype")).putArray("enum");
        for (DataType type : DataType.values()) {
            datatypes.add(type.name());
        }
    }

    static ProtocolSchemas instance() {
        return Holder.INSTANCE;
    }

    /** Whether there is a schema of this name. */
    boolean has(String name) {
        return all.has(name);
    }

    static ObjectNode reference(String name) {
        return JsonNodeFactory.instance.objectNode().put("$ref", REFERENCE + name);
    }

    /** Adds a schema, and those that it refers to, to the schemas of a document. */
    void copy(String name, ObjectNode into) {
        if (into.has(name)) {
            return;
        }
        JsonNode schema = Objects.requireNonNull(all.get(name), name);
        into.set(name, schema);
        for (String reference : schema.findValuesAsText("$ref")) {
            copy(reference.substring(REFERENCE.length()), into);
        }
    }
}

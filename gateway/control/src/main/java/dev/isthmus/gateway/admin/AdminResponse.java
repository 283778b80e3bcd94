package dev.isthmus.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializerBase;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.net.Labelled;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A response of the admin listener.
 *
 * @param headers further header fields; without {@code cache-control} it is {@code no-store}
 * @param file sent in place of the body, and then deleted; null for none
 * @param change what was changed, for the audit log; null if the route says it
 */
public record AdminResponse(
        int status,
        String contentType,
        String body,
        Map<String, String> headers,
        @Nullable Path file,
        @Nullable AuditedChange change) {
    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(SerializationFeature.INDENT_OUTPUT)
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .addModule(new SimpleModule()
                    .addSerializer(Instant.class, ToStringSerializer.instance)
                    .addSerializer(Labelled.class, new LabelSerializer()))
            .build();

    /** Writes constants as operators read them. */
    private static final class LabelSerializer extends ToStringSerializerBase {
        private static final long serialVersionUID = 1L;

        LabelSerializer() {
            super(Labelled.class);
        }

        @Override
        public String valueToString(Object constant) {
            return ((Labelled) constant).label();
        }
    }

    public AdminResponse {
        headers = Map.copyOf(headers);
    }

    private AdminResponse(int status, String contentType, String body) {
        this(status, contentType, body, Map.of(), null, null);
    }

    /** The same with one more header field. */
    public AdminResponse with(String name, String value) {
        Map<String, String> all = new LinkedHashMap<>(headers);
        all.put(name, value);
        return new AdminResponse(status, contentType, body, all, file, change);
    }

    /** The same, with what was changed. */
    public AdminResponse changed(AuditedChange made) {
        return new AdminResponse(status, contentType, body, headers, file, made);
    }

    /** The client's copy is still good: 304 without a body. */
    public static AdminResponse notModified(String contentType) {
        return new AdminResponse(304, contentType, "");
    }

    /** A file, which is deleted when it was sent or could not be. */
    public static AdminResponse temporaryFile(String contentType, Path file) {
        return new AdminResponse(200, contentType, "", Map.of(), file, null);
    }

    /** The components of a record as members of a document. */
    public static Map<String, @Nullable Object> members(Record part) {
        return JSON.convertValue(part, new TypeReference<>() {});
    }

    /** A JSON document of maps, lists, strings, numbers, booleans and Jackson nodes. */
    public static AdminResponse json(int status, Object document) {
        try {
            return new AdminResponse(status, "application/json", JSON.writeValueAsString(document));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(
                    "cannot be written as JSON: " + document.getClass().getName(), e);
        }
    }

    public static AdminResponse text(String contentType, String text) {
        return new AdminResponse(200, contentType, text);
    }

    public static AdminResponse error(int status, String message) {
        return json(status, Map.of("error", message));
    }
}

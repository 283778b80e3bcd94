package dev.isthmus.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.Map;

/** What an operator is answered. */
public record AdminAnswer(int status, String contentType, String body) {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    /** A JSON document of maps, lists, texts, numbers, booleans and Jackson's nodes. */
    public static AdminAnswer json(int status, Object document) {
        try {
            return new AdminAnswer(status, "application/json", JSON.writeValueAsString(document));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("this cannot be written as JSON", e);
        }
    }

    public static AdminAnswer text(String contentType, String text) {
        return new AdminAnswer(200, contentType, text);
    }

    public static AdminAnswer error(int status, String message) {
        return json(status, Map.of("error", message));
    }
}

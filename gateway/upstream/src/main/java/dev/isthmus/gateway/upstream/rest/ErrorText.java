package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Extracts the message of an error from the formats of servers, frameworks and proxies. */
final class ErrorText {
    private static final int MAX_READ = 64 * 1024;
    private static final int MAX_JSON_TEXT = 2000;
    private static final int MAX_PLAIN_TEXT = 200;
    private static final ObjectMapper JSON = new ObjectMapper();

    private ErrorText() {}

    /**
     * The message to show to a client; empty if the body has none.
     *
     * @param body borrowed; its indices are not changed
     */
    static String of(ByteBuf body) {
        int length = Math.min(body.readableBytes(), MAX_READ);
        String text = body.toString(body.readerIndex(), length, StandardCharsets.UTF_8)
                .strip();
        if (text.startsWith("{")) {
            String message = ofJson(text);
            if (!message.isEmpty()) {
                return shortened(message, MAX_JSON_TEXT);
            }
        }
        return text.startsWith("<") ? "" : shortened(text, MAX_PLAIN_TEXT);
    }

    private static String ofJson(String text) {
        JsonNode error;
        try {
            error = JSON.readTree(text);
        } catch (JsonProcessingException e) {
            return "";
        }
        // The protocol's field, FastAPI's, and that of grpc-gateway and most frameworks.
        for (String field : List.of("error", "detail", "message")) {
            String message = message(error.path(field));
            if (!message.isEmpty()) {
                return message;
            }
        }
        return "";
    }

    private static String message(JsonNode value) {
        if (value.isTextual()) {
            return value.textValue().strip();
        }
        if (value.isObject()) {
            return value.path("message").asText("").strip();
        }
        List<String> messages = new ArrayList<>();
        for (JsonNode problem : value) {
            messages.add(problem(problem));
        }
        return String.join("; ", messages);
    }

    /** One of pydantic's errors: location and message. */
    private static String problem(JsonNode problem) {
        List<String> location = new ArrayList<>();
        problem.path("loc").forEach(element -> location.add(element.asText()));
        String message = problem.path("msg").asText(problem.asText());
        return location.isEmpty() ? message : String.join(".", location) + ": " + message;
    }

    /** Removes control characters and truncates at a character boundary. */
    private static String shortened(String text, int max) {
        String plain = text.replaceAll("\\p{Cntrl}+", " ");
        if (plain.length() <= max) {
            return plain;
        }
        return plain.substring(0, Character.isHighSurrogate(plain.charAt(max - 1)) ? max - 1 : max);
    }
}

package dev.isthmus.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A request to the admin listener.
 *
 * @param tail the decoded part of the path that matches the route's {@code *}; empty for a route without one
 * @param query the query parameters
 * @param header the value of a header field by its name; empty if it is missing
 * @param body at most 64 KiB, decoded as UTF-8
 * @param peer the address of the connection; null if it is not known
 * @param secure whether the connection uses TLS
 * @param operator the name of who sends it; empty if that need not be known
 * @param connected whether the client still waits for the response
 */
public record AdminRequest(
        String tail,
        Map<String, List<String>> query,
        UnaryOperator<String> header,
        String body,
        @Nullable SocketAddress peer,
        boolean secure,
        String operator,
        BooleanSupplier connected) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The same, sent by an operator of this name. */
    AdminRequest by(String name) {
        return new AdminRequest(tail, query, header, body, peer, secure, name, connected);
    }

    /** A text of the body, a JSON object, by its name; null without one. It may be a secret, so no message has it. */
    public @Nullable String member(String name) {
        try {
            JsonNode member = JSON.readTree(body).path(name);
            return member.isTextual() ? member.asText() : null;
        } catch (JsonProcessingException malformed) {
            return null;
        }
    }
}

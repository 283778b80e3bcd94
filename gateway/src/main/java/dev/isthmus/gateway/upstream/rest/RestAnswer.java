package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A complete response of an upstream. Owns its body until it is taken. */
final class RestAnswer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LONGEST_TEXT = 200;

    private final String upstream;
    private final HttpResponse head;
    private ByteBuf body;

    /** A response (the body is taken). */
    RestAnswer(String upstream, HttpResponse head, ByteBuf body) {
        this.upstream = upstream;
        this.head = head;
        this.body = body;
    }

    int status() {
        return head.status().code();
    }

    boolean ok() {
        return status() == 200;
    }

    /** That the server did what was asked; otherwise its error in whichever form it came (R3). */
    void requireOk() {
        if (!ok()) {
            boolean redirect = status() >= 300 && status() < 400;
            throw new OipException(
                    redirect ? ErrorCode.BAD_UPSTREAM_ANSWER : ErrorCode.ofHttpStatus(status()), errorText());
        }
    }

    long jsonLength() {
        String value = head.headers().get("Inference-Header-Content-Length");
        if (value == null) {
            return RestBody.ALL_JSON;
        }
        try {
            return Long.parseUnsignedLong(value);
        } catch (NumberFormatException e) {
            throw new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "upstream '" + upstream + "' answered with Inference-Header-Content-Length '" + value + "'",
                    e);
        }
    }

    byte[] bodyBytes() {
        return ByteBufUtil.getBytes(body);
    }

    /** The body, owned by the caller. */
    ByteBuf takeBody() {
        ByteBuf taken = body;
        body = Unpooled.EMPTY_BUFFER;
        return taken;
    }

    void release() {
        body.release();
        body = Unpooled.EMPTY_BUFFER;
    }

    private String errorText() {
        String text = body.toString(StandardCharsets.UTF_8).strip();
        String found = text.startsWith("{") ? ofJson(text) : text.startsWith("<") ? null : text;
        if (found == null || found.isEmpty()) {
            return "upstream '" + upstream + "' answered " + status();
        }
        return found;
    }

    private static @Nullable String ofJson(String text) {
        JsonNode node;
        try {
            node = JSON.readTree(text);
        } catch (JsonProcessingException e) {
            return shortened(text);
        }
        for (String key : new String[] {"error", "detail", "message"}) {
            JsonNode value = node.path(key);
            if (value.isTextual()) {
                return value.textValue();
            }
            if (value.isArray()) {
                return ofDetails(value);
            }
        }
        return shortened(text);
    }

    /** FastAPI's list of what is wrong with a request. */
    private static String ofDetails(JsonNode details) {
        StringBuilder text = new StringBuilder();
        for (JsonNode detail : details) {
            StringBuilder where = new StringBuilder();
            detail.path("loc")
                    .forEach(part -> where.append(where.isEmpty() ? "" : ".").append(part.asText()));
            text.append(text.isEmpty() ? "" : "; ")
                    .append(where)
                    .append(": ")
                    .append(detail.path("msg").asText());
        }
        return text.toString();
    }

    private static String shortened(String text) {
        return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT);
    }
}

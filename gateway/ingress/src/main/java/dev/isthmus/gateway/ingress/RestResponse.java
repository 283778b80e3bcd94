package dev.isthmus.gateway.ingress;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP response, independent of the version of HTTP. Owns its body.
 *
 * @param headers lower-case names; without those of the connection, and with the body's length only if the body is not
 *     sent
 * @param id of the call, a header as well; null for none
 */
record RestResponse(
        int status,
        ByteBuf body,
        Map<String, String> headers,
        @Nullable AsciiString id) {
    static final String CHALLENGE_HEADER = "www-authenticate";
    /** The value of the header: how to authenticate (RFC 6750, 3). */
    static final String CHALLENGE = "Bearer realm=\"isthmus\"";

    /** The header and gRPC metadata key that says when a rejected client may retry (RFC 9110, 10.2.3). */
    static final String RETRY_AFTER = "retry-after";

    private static final String JSON_LENGTH = HeaderAllowList.JSON_LENGTH.toString();
    private static final String CONTENT_TYPE = "content-type";
    /** It keeps its entry, where {@code Map.of} makes one each time. */
    private static final Map<String, String> JSON_TYPE = Collections.singletonMap(CONTENT_TYPE, "application/json");

    private static final ByteBuf EVENT_START = constant("data: ");
    private static final ByteBuf EVENT_END = constant("\n\n");

    RestResponse(int status, ByteBuf body, Map<String, String> headers) {
        this(status, body, headers, null);
    }

    private static ByteBuf constant(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
        return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(direct).asReadOnly());
    }

    /** The response for a message (taken). */
    static RestResponse of(ReplyMessage message, IngressSettings.HealthResponses health) {
        return switch (message) {
            case ReplyMessage.Live live -> health(live.live(), JsonResponses.live(live), health);
            case ReplyMessage.Ready ready -> health(ready.ready(), JsonResponses.ready(ready), health);
            case ReplyMessage.ModelReadyState model -> health(model.ready(), JsonResponses.modelReady(model), health);
            case ReplyMessage.Server server -> json(200, JsonResponses.server(server.metadata()));
            case ReplyMessage.Model model -> json(200, JsonResponses.model(model.metadata()));
            case ReplyMessage.Inference inference -> inference(((InferMessage.RestMessage) inference.message()).body());
            case ReplyMessage.Part part -> throw new IllegalArgumentException("a part, not a message");
            case ReplyMessage.Document document -> json(200, document.content());
            case ReplyMessage.Events events -> events().with(events.content());
            case ReplyMessage.StreamError error -> error(error.failure());
        };
    }

    /** The response to a health request; "not ready" has a status other than 2xx (protocol document, Health; R2). */
    private static RestResponse health(boolean ok, byte[] json, IngressSettings.HealthResponses form) {
        RestResponse full = json(ok ? 200 : form.notReadyStatus(), json);
        return form.body() ? full : full.with(Unpooled.EMPTY_BUFFER);
    }

    static RestResponse json(int status, byte[] json) {
        return json(status, Unpooled.wrappedBuffer(json));
    }

    /** @param body taken */
    static RestResponse json(int status, ByteBuf body) {
        return new RestResponse(status, body, JSON_TYPE);
    }

    static RestResponse inference(RestBody body) {
        return body.binary()
                ? new RestResponse(
                        200,
                        body.content(),
                        Map.of(CONTENT_TYPE, "application/octet-stream", JSON_LENGTH, Long.toString(body.jsonLength())))
                : json(200, body.content());
    }

    /** The head of an inference response that is forwarded in parts. */
    static RestResponse passed(ReplyMessage.Part first) {
        RestResponse head = inference(new RestBody(Unpooled.EMPTY_BUFFER, first.jsonLength()));
        return first.length() == ReplyMessage.Part.UNKNOWN
                ? head
                : head.with("content-length", Long.toString(first.length()));
    }

    /** The head of a stream of server-sent events. */
    static RestResponse events() {
        return new RestResponse(
                200,
                Unpooled.EMPTY_BUFFER,
                Map.of(CONTENT_TYPE, "text/event-stream", "cache-control", "no-cache", "x-accel-buffering", "no"));
    }

    /** JSON (taken) as a server-sent event (WHATWG HTML, "Server-sent events"), owned by the caller. */
    static ByteBuf event(ByteBufAllocator allocator, ByteBuf json) {
        // A line break would end the event; in JSON it can only stand between tokens.
        for (int at = lineEnd(json, json.readerIndex()); at >= 0; at = lineEnd(json, at)) {
            json.setByte(at, ' ');
        }
        return allocator.compositeBuffer(3).addComponents(true, EVENT_START.duplicate(), json, EVENT_END.duplicate());
    }

    private static int lineEnd(ByteBuf json, int from) {
        return json.forEachByte(from, json.writerIndex() - from, b -> b != '\n' && b != '\r');
    }

    /** A failure. Its text may repeat what the client sent, so browsers must not take it for anything but JSON. */
    static RestResponse error(OipException failure) {
        RestResponse plain = new RestResponse(
                failure.code().httpStatus(),
                Unpooled.wrappedBuffer(JsonResponses.error(failure.message())),
                Map.of(CONTENT_TYPE, "application/json", "x-content-type-options", "nosniff"));
        RestResponse challenged =
                failure.code() == ErrorCode.UNAUTHENTICATED ? plain.with(CHALLENGE_HEADER, CHALLENGE) : plain;
        return failure.retryAfter()
                .map(wait -> challenged.with(RETRY_AFTER, seconds(wait)))
                .orElse(challenged);
    }

    /** The value of {@link #RETRY_AFTER}: whole seconds, rounded up; at least one. */
    static String seconds(Duration wait) {
        return Long.toString(Math.max(1, wait.plusMillis(999).toSeconds()));
    }

    /** Returns it with more headers; existing ones are not replaced. */
    RestResponse with(Map<String, String> more) {
        if (more.isEmpty()) {
            return this;
        }
        return new RestResponse(status, body, merged(more, headers), id);
    }

    /** Returns it with the id of the call; null for none. A server's header of this name is not replaced. */
    RestResponse identified(@Nullable AsciiString call) {
        return headers.containsKey(HeaderAllowList.REQUEST_ID) ? this : new RestResponse(status, body, headers, call);
    }

    /** The fields with more of them, which replace those of the same name; both stay as they are. */
    static Map<String, String> merged(Map<String, String> fields, Map<String, String> more) {
        if (fields.isEmpty()) {
            return more;
        }
        Map<String, String> all = new LinkedHashMap<>(fields);
        all.putAll(more);
        return all;
    }

    /** Returns it with a further request header that it depends on. */
    RestResponse varying(String header) {
        String others = headers.get("vary");
        return new RestResponse(
                status, body, merged(headers, Map.of("vary", others == null ? header : others + ", " + header)), id);
    }

    /** Returns it with the headers of {@link CorsPolicy#headers}, if there are any. */
    RestResponse allowing(Map<String, String> cors) {
        return cors.isEmpty() ? this : CorsPolicy.add(this, cors);
    }

    /** Returns the head with the content-length of the omitted body. */
    RestResponse withoutBody() {
        String length = Integer.toString(body.readableBytes());
        body.release();
        return with(Unpooled.EMPTY_BUFFER).with("content-length", length);
    }

    RestResponse with(String name, String value) {
        return with(Map.of(name, value));
    }

    RestResponse with(ByteBuf other) {
        return new RestResponse(status, other, headers, id);
    }

    /** The JSON of all responses except inferences. Absent values are omitted, never null. */
    static final class JsonResponses {
        private static final ObjectMapper JSON = new ObjectMapper();

        private JsonResponses() {}

        static byte[] error(String message) {
            return bytes(JSON.createObjectNode().put("error", message));
        }

        static byte[] live(ReplyMessage.Live message) {
            return bytes(JSON.createObjectNode().put("live", message.live()));
        }

        static byte[] ready(ReplyMessage.Ready message) {
            if (message.ready()) {
                return bytes(JSON.createObjectNode().put("ready", true));
            }
            return error("the server is not ready" + (message.reason().isEmpty() ? "" : ": " + message.reason()));
        }

        static byte[] modelReady(ReplyMessage.ModelReadyState message) {
            return message.ready()
                    ? bytes(JSON.createObjectNode()
                            .put("name", message.model().name())
                            .put("ready", true))
                    : error("model " + message.model() + " is not ready");
        }

        static byte[] server(ServerMetadata metadata) {
            ObjectNode node =
                    JSON.createObjectNode().put("name", metadata.name()).put("version", metadata.version());
            ArrayNode extensions = node.putArray("extensions");
            metadata.extensions().forEach(extensions::add);
            return bytes(node);
        }

        static byte[] model(ModelMetadata metadata) {
            ObjectNode node = JSON.createObjectNode().put("name", metadata.name());
            if (!metadata.versions().isEmpty()) {
                ArrayNode versions = node.putArray("versions");
                metadata.versions().forEach(versions::add);
            }
            node.put("platform", metadata.platform());
            tensors(node.putArray("inputs"), metadata.inputs());
            tensors(node.putArray("outputs"), metadata.outputs());
            parameters(node, metadata.parameters());
            if (!metadata.properties().isEmpty()) {
                metadata.properties().forEach(node.putObject("properties")::put);
            }
            return bytes(node);
        }

        private static void tensors(ArrayNode into, List<ModelMetadata.TensorMetadata> tensors) {
            for (ModelMetadata.TensorMetadata tensor : tensors) {
                ObjectNode node = into.addObject().put("name", tensor.name()).put("datatype", tensor.dataType());
                ArrayNode shape = node.putArray("shape");
                tensor.shape().toList().forEach(shape::add);
                parameters(node, tensor.parameters());
            }
        }

        private static void parameters(ObjectNode into, Map<String, Parameter> parameters) {
            if (parameters.isEmpty()) {
                return;
            }
            ObjectNode node = into.putObject("parameters");
            parameters.forEach((name, parameter) -> {
                switch (parameter) {
                    case Parameter.Bool bool -> node.put(name, bool.value());
                    case Parameter.Int64 int64 -> node.put(name, int64.value());
                    case Parameter.Uint64 uint64 ->
                        node.put(name, new java.math.BigInteger(Long.toUnsignedString(uint64.value())));
                    case Parameter.Float64 float64 -> node.put(name, float64.value());
                    case Parameter.Text text -> node.put(name, text.value());
                    case Parameter.Json json -> node.putRawValue(name, new RawValue(json.text()));
                }
            });
        }

        private static byte[] bytes(ObjectNode node) {
            try {
                return JSON.writeValueAsBytes(node);
            } catch (JsonProcessingException e) {
                throw new IllegalStateException("cannot serialize a tree of plain values", e);
            }
        }
    }
}

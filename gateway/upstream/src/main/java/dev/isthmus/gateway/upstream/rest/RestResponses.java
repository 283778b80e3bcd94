package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.ServerDelay;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.json.MemberScanner;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.CompositeByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the responses of a REST server. Each method takes the body. */
record RestResponses(UpstreamFailures failures) {
    private static final int OK = 200;
    /** Ten digits hold any buffer length and fit into a long. */
    private static final Pattern LENGTH = Pattern.compile("[0-9]{1,10}");

    ReplyMessage inference(int status, FieldSection headers, ByteBuf body, ExpectedOrigin expected) {
        long jsonLength;
        try {
            requireOk(status, headers, body);
            jsonLength = jsonLength(headers, body.readableBytes());
        } catch (RuntimeException e) {
            body.release();
            throw e;
        }
        requireOrigin(body, expected);
        return new ReplyMessage.Inference(new InferMessage.RestMessage(new RestBody(body, jsonLength)));
    }

    /**
     * Requires that an inference response is that to its request.
     *
     * @param start its first bytes, released if it is not
     */
    void requireOrigin(ByteBuf start, ExpectedOrigin expected) {
        String violation = expected.violation(RestResponseReader.origin(start, expected));
        if (violation != null) {
            start.release();
            throw failures.badResponse(violation, null);
        }
    }

    /** A document, forwarded unread. */
    ReplyMessage document(int status, ByteBuf body) {
        try {
            requireOk(status, body);
            return new ReplyMessage.Document(body);
        } catch (RuntimeException e) {
            body.release();
            throw e;
        }
    }

    /** A document, forwarded unchanged if it is one JSON object. */
    ReplyMessage generated(int status, ByteBuf body) {
        ReplyMessage document = document(status, body);
        try {
            JsonCheck check = JsonCheck.response();
            if (body instanceof CompositeByteBuf parts) {
                parts.forEach(check::feed);
            } else {
                check.feed(body);
            }
            check.finish();
            return document;
        } catch (OipException malformed) {
            document.release();
            throw failures.badResponse(
                    "sent a response that is not one JSON object: " + malformed.message(), malformed);
        }
    }

    ReplyMessage serverReady(int status, ByteBuf body) {
        boolean ready = status == OK && !denies(body, "ready") && !denies(body, "live");
        body.release();
        return new ReplyMessage.Ready(ready);
    }

    /** Triton and MLServer return 400 for a model that is not ready, MLServer 404 for an unknown one, KServe 503. */
    ReplyMessage modelReady(ModelRef model, int status, ByteBuf body) {
        try {
            boolean notReady = status == 400 || status == 404 || status == 503;
            if (!notReady) {
                requireOk(status, body);
            }
            return new ReplyMessage.ModelReadyState(model, !notReady && !denies(body, "ready"));
        } finally {
            body.release();
        }
    }

    /** Whether a body, which may be empty, says no by this member in spite of status 200, as aiSSEMBLE's servers do. */
    private static boolean denies(ByteBuf body, String member) {
        MemberScanner members = new MemberScanner(body, body.readerIndex(), body.writerIndex());
        return members.find(member) && body.getByte(members.start()) == 'f';
    }

    ReplyMessage.Server serverMetadata(int status, ByteBuf body) {
        return new ReplyMessage.Server(metadata(status, body, MetadataJson::server));
    }

    ReplyMessage modelMetadata(int status, ByteBuf body) {
        return new ReplyMessage.Model(metadata(status, body, MetadataJson::model));
    }

    private <T> T metadata(int status, ByteBuf body, MetadataReader<T> reader) {
        try {
            requireOk(status, body);
            return reader.read(MetadataJson.object(body));
        } catch (IOException e) {
            throw failures.badResponse("sent metadata that violate the protocol", e);
        } finally {
            body.release();
        }
    }

    @FunctionalInterface
    private interface MetadataReader<T> {
        T read(JsonNode json) throws IOException;
    }

    /** Requires status 200. A failure has the time after which the server asks to repeat. */
    private void requireOk(int status, FieldSection headers, ByteBuf body) {
        try {
            requireOk(status, body);
        } catch (OipException failure) {
            throw ServerDelay.of(failure, headers.get(ServerDelay.RETRY_AFTER), null);
        }
    }

    private void requireOk(int status, ByteBuf body) {
        if (status == OK) {
            return;
        }
        if (status < 400 || status > 599) {
            throw failures.badResponse("returned status " + status, null);
        }
        String text = ErrorText.of(body);
        ErrorCode code = ErrorCode.ofHttpStatus(status);
        throw text.isEmpty()
                ? failures.ofStatus(code, "returned status " + status, null)
                : OipException.ofServer(code, text);
    }

    /** The receiver that forwards the body of an inference response; null to buffer the body. */
    @Nullable
    PartReader passed(int status, FieldSection headers, long length, Reply reply, ExpectedOrigin expected) {
        if (status != OK || !reply.acceptsParts(Wire.REST, length)) {
            return null;
        }
        long jsonLength = jsonLength(headers, length == ReplyMessage.Part.UNKNOWN ? Long.MAX_VALUE : length);
        return new Passed(reply, length, jsonLength, expected);
    }

    private final class Passed implements PartReader {
        private final Reply reply;
        private final long length;
        private final long jsonLength;
        private final ExpectedOrigin expected;
        private boolean begun;

        Passed(Reply reply, long length, long jsonLength, ExpectedOrigin expected) {
            this.reply = reply;
            this.length = length;
            this.jsonLength = jsonLength;
            this.expected = expected;
        }

        @Override
        public void part(ByteBuf part) {
            if (part.isReadable()) {
                if (!begun) {
                    requireOrigin(part, expected);
                    begun = true;
                }
                reply.message(new ReplyMessage.Part(part, length, jsonLength));
            } else {
                part.release();
            }
        }

        @Override
        public void release() {}
    }

    private long jsonLength(FieldSection headers, long bodyLength) {
        if (!headers.contains(HeaderAllowList.JSON_LENGTH)) {
            return RestBody.ALL_JSON;
        }
        List<String> values = headers.all(HeaderAllowList.JSON_LENGTH);
        String value = values.getFirst();
        if (values.size() > 1 || !LENGTH.matcher(value).matches() || Long.parseLong(value) > bodyLength) {
            throw failures.badResponse(
                    "says Inference-Header-Content-Length " + values + " of a body of " + bodyLength + " bytes", null);
        }
        // KServe sends the header even if no binary data follows.
        long length = Long.parseLong(value);
        return length == bodyLength ? RestBody.ALL_JSON : length;
    }

    /** Extracts the message of an error from the formats of servers, frameworks and proxies. */
    private static final class ErrorText {
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

    /** Reads metadata from JSON. Null or missing fields are empty: KServe writes null for unknown values. */
    private static final class MetadataJson {
        private static final ObjectMapper JSON = new ObjectMapper();
        private static final BigInteger UINT64_MAX = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);

        private MetadataJson() {}

        static ServerMetadata server(JsonNode json) {
            return new ServerMetadata(text(json, "name"), text(json, "version"), texts(json, "extensions"));
        }

        static ModelMetadata model(JsonNode json) throws IOException {
            return new ModelMetadata(
                    text(json, "name"),
                    texts(json, "versions"),
                    text(json, "platform"),
                    tensors(json, "inputs"),
                    tensors(json, "outputs"),
                    parameters(json.path("parameters")),
                    properties(json.path("properties")));
        }

        private static Map<String, String> properties(JsonNode json) {
            Map<String, String> properties = new LinkedHashMap<>();
            json.properties().stream()
                    .filter(property -> property.getValue().isValueNode()
                            && !property.getValue().isNull())
                    .forEach(property -> properties.put(
                            property.getKey(), property.getValue().asText()));
            return properties;
        }

        static JsonNode object(ByteBuf body) throws IOException {
            JsonNode json;
            try (var stream = new ByteBufInputStream(body.slice())) {
                json = JSON.readTree((InputStream) stream);
            }
            if (!json.isObject()) {
                throw new JsonParseException(null, "metadata must be a JSON object, got " + json.getNodeType());
            }
            return json;
        }

        private static String text(JsonNode json, String field) {
            JsonNode value = json.path(field);
            return value.isNull() ? "" : value.asText("");
        }

        private static List<String> texts(JsonNode json, String field) {
            List<String> texts = new ArrayList<>();
            json.path(field).forEach(value -> texts.add(value.asText()));
            return texts;
        }

        private static List<ModelMetadata.TensorMetadata> tensors(JsonNode json, String field) throws IOException {
            List<ModelMetadata.TensorMetadata> tensors = new ArrayList<>();
            for (JsonNode tensor : json.path(field)) {
                tensors.add(new ModelMetadata.TensorMetadata(
                        text(tensor, "name"),
                        text(tensor, "datatype"),
                        shape(tensor.path("shape")),
                        parameters(tensor.path("parameters"))));
            }
            return tensors;
        }

        /** Extents; also accepts strings, as in protobuf's JSON format, which some bridges send. */
        private static Shape shape(JsonNode json) throws IOException {
            long[] extents = new long[json.size()];
            for (int i = 0; i < extents.length; i++) {
                JsonNode extent = json.get(i);
                try {
                    extents[i] = Long.parseLong(extent.asText());
                } catch (NumberFormatException e) {
                    throw new JsonParseException(null, "extent must be an integer, got " + extent, e);
                }
            }
            return Shape.of(extents);
        }

        private static Map<String, Parameter> parameters(JsonNode json) {
            Map<String, Parameter> parameters = new LinkedHashMap<>();
            json.properties()
                    .forEach(entry ->
                            parameter(entry.getValue()).ifPresent(value -> parameters.put(entry.getKey(), value)));
            return parameters;
        }

        /** The parameter; empty for values a parameter cannot have: null, arrays, objects, integers beyond 64 bits. */
        private static Optional<Parameter> parameter(JsonNode value) {
            return switch (value.getNodeType()) {
                case BOOLEAN -> Optional.of(new Parameter.Bool(value.booleanValue()));
                case STRING -> Optional.of(new Parameter.Text(value.textValue()));
                case NUMBER -> number(value);
                case ARRAY, BINARY, MISSING, NULL, OBJECT, POJO -> Optional.empty();
            };
        }

        private static Optional<Parameter> number(JsonNode value) {
            if (!value.isIntegralNumber()) {
                return Optional.of(new Parameter.Float64(value.doubleValue()));
            }
            if (value.canConvertToLong()) {
                return Optional.of(new Parameter.Int64(value.longValue()));
            }
            BigInteger integer = value.bigIntegerValue();
            return integer.signum() > 0 && integer.compareTo(UINT64_MAX) <= 0
                    ? Optional.of(new Parameter.Uint64(integer.longValue()))
                    : Optional.empty();
        }
    }
}

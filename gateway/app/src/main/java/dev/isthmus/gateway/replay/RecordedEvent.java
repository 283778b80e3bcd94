package dev.isthmus.gateway.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request or response of a payload log.
 *
 * @param line its number in the file, from 1
 * @param data null if it has none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record RecordedEvent(long line, Map<String, String> attributes, byte @Nullable [] data) {
    static final WireLimits LIMITS =
            WireLimits.DEFAULT.withBodyBytes(Integer.MAX_VALUE).withTensors(Integer.MAX_VALUE);

    private static final String REQUEST = "org.kubeflow.serving.inference.request";
    private static final String RESPONSE = "org.kubeflow.serving.inference.response";
    private static final String JSON_LENGTH = "jsonlength";
    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(Integer.MAX_VALUE)
                    .build())
            .build();

    RecordedEvent {
        attributes = Map.copyOf(attributes);
    }

    /**
     * @param number of the line in its file, from 1
     * @throws BadLineException if it is no event of a payload log
     */
    static RecordedEvent parse(long number, byte[] line) throws BadLineException {
        Map<String, String> attributes = new HashMap<>();
        byte[] data = null;
        try (JsonParser json = JSON.createParser(line)) {
            require(json.nextToken() == JsonToken.START_OBJECT, "a JSON object is expected");
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                json.nextToken();
                if (name.equals("data")) {
                    data = value(line, json);
                } else if (name.equals("data_base64") && json.currentToken() == JsonToken.VALUE_STRING) {
                    data = json.getBinaryValue();
                } else {
                    require(
                            json.currentToken().isScalarValue() && json.currentToken() != JsonToken.VALUE_NULL,
                            name + ": text is expected");
                    attributes.put(name, json.getText());
                }
            }
            require(
                    json.currentToken() == JsonToken.END_OBJECT && json.nextToken() == null,
                    "one JSON object is expected");
        } catch (JsonProcessingException e) {
            throw new BadLineException("a JSON object is expected: " + e.getOriginalMessage());
        } catch (IOException e) {
            throw new BadLineException("a JSON object is expected: " + e.getMessage());
        }
        return checked(new RecordedEvent(number, attributes, data));
    }

    /** The bytes of the current value. */
    private static byte[] value(byte[] line, JsonParser json) throws IOException {
        int from = (int) json.currentTokenLocation().getByteOffset();
        json.skipChildren();
        int to = (int) json.currentLocation().getByteOffset();
        return Arrays.copyOfRange(line, from, to);
    }

    private static RecordedEvent checked(RecordedEvent event) throws BadLineException {
        require(event.attribute("specversion").equals("1.0"), "a CloudEvent with specversion 1.0 is expected");
        String type = event.attribute("type");
        require(
                type.equals(REQUEST) || type.equals(RESPONSE),
                "type: " + REQUEST + " or " + RESPONSE + " is expected, got '" + type + "'");
        require(!event.id().isEmpty(), "id is missing");
        require(
                !event.isRequest()
                        || event.data == null
                        || !event.model().name().isEmpty(),
                "inferenceservicename, the model of the request, is missing");
        String length = event.attribute(JSON_LENGTH);
        require(
                length.isEmpty() || length.matches("[0-9]{1,9}"),
                "jsonlength: a number of bytes is expected, got '" + length + "'");
        return event;
    }

    private static void require(boolean holds, String expectation) throws BadLineException {
        if (!holds) {
            throw new BadLineException(expectation);
        }
    }

    private String attribute(String name) {
        return attributes.getOrDefault(name, "");
    }

    String id() {
        return attribute("id");
    }

    boolean isRequest() {
        return attribute("type").equals(REQUEST);
    }

    /** The model as the client named it. */
    ModelRef model() {
        return new ModelRef(attribute("inferenceservicename"), attribute("modelversion"));
    }

    /** Whether it is an inference that has all that was sent: a raw binary request does not describe its tensor. */
    boolean complete() {
        return data != null && !tensorsOmitted() && attribute("operation").isEmpty() && jsonLength() != 0;
    }

    /** Whether tensors were left out by name. */
    boolean tensorsOmitted() {
        return attribute("tensorsomitted").equals("true");
    }

    /** Whether it belongs to a stream, in which requests and responses are not pairs. */
    boolean inStream() {
        return attribute("stream").equals("true");
    }

    /** The code of a response: OK, or that of its failure. */
    String code() {
        // KServe's logger has no code, and logs no failures.
        return attributes.getOrDefault("code", "OK");
    }

    /** Whether it is a response that can be compared. */
    boolean comparable() {
        return data != null && code().equals("OK");
    }

    private long jsonLength() {
        String length = attribute(JSON_LENGTH);
        return length.isEmpty() ? RestBody.ALL_JSON : Long.parseLong(length);
    }

    private ByteBuf content() {
        return Unpooled.wrappedBuffer(Objects.requireNonNull(data));
    }

    /**
     * The decoded request, owned by the caller.
     *
     * @throws dev.isthmus.oip.OipException if it is not valid
     */
    RestRequest request() {
        return ReplayClient.decoded(model(), content(), jsonLength(), LIMITS);
    }

    /**
     * The decoded response, owned by the caller.
     *
     * @throws dev.isthmus.oip.OipException if it is not valid
     */
    InferResponse response(ByteBufAllocator allocator) {
        RestResponseReader reader = new RestResponseReader(allocator, jsonLength(), LIMITS);
        try {
            reader.feed(content());
            return reader.finish();
        } finally {
            reader.release();
        }
    }

    /** A line that is no event of a payload log; the message says what is expected. */
    static final class BadLineException extends Exception {
        private static final long serialVersionUID = 1L;

        BadLineException(String message) {
            super(message);
        }
    }
}

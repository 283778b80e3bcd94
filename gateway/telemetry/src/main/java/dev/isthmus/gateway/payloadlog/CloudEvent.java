package dev.isthmus.gateway.payloadlog;

import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An encoded event (CloudEvents 1.0).
 *
 * @param attributes all but {@code datacontenttype}, by name, as text; in the order in which they are written
 * @param contentType of the data; empty if there is none
 * @param data of the content type, in the first {@code length} bytes; not to be changed
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record CloudEvent(Map<String, String> attributes, String contentType, byte[] data, int length) {
    static final String JSON = "application/json";
    static final String BINARY = "application/octet-stream";
    static final String EVENT_STREAM = "text/event-stream";
    /** The attribute with the number of bytes of JSON before the tensors' binary data. */
    static final String JSON_LENGTH = "jsonlength";

    private static final byte[] NONE = {};

    CloudEvent {
        attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
    }

    /** An event without data. */
    CloudEvent(Map<String, String> attributes) {
        this(attributes, "", NONE, 0);
    }

    boolean hasData() {
        return !contentType.isEmpty();
    }

    /** The name of the member that has the data in JSON: with the suffix {@code _base64} if it is base64. */
    String member(String name) {
        return contentType.equals(BINARY) ? name + "_base64" : name;
    }

    /** The data as a value of JSON (CloudEvents' JSON event format, 3.1): a string unless it is JSON. */
    ByteBuffer value() {
        return switch (contentType) {
            case BINARY -> base64();
            case EVENT_STREAM -> text();
            default -> ByteBuffer.wrap(data, 0, length);
        };
    }

    private ByteBuffer base64() {
        ByteBuffer encoded = Base64.getEncoder().encode(ByteBuffer.wrap(data, 0, length));
        return ByteBuffer.allocate(encoded.remaining() + 2)
                .put((byte) '"')
                .put(encoded)
                .put((byte) '"')
                .flip();
    }

    private ByteBuffer text() {
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        try {
            json.text(new String(data, 0, length, StandardCharsets.UTF_8));
            return ByteBuffer.wrap(ByteBufUtil.getBytes(json.out()));
        } finally {
            json.release();
        }
    }
}

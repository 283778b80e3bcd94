package dev.isthmus.gateway.payloadlog;

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

    CloudEvent(Map<String, String> attributes) {
        this(attributes, "", NONE, 0);
    }

    boolean hasData() {
        return !contentType.isEmpty();
    }
}

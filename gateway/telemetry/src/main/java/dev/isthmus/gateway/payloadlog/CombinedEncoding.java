package dev.isthmus.gateway.payloadlog;

import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes one event of the encoded events of a request and its response: {@code {"request": ..., "response": ...}}.
 * Attributes in which the two differ get the prefix {@code request} or {@code response}; the time is the response's.
 */
final class CombinedEncoding {
    private static final Set<String> OF_EACH = Set.of(CloudEvent.JSON_LENGTH, "payloadsize", "dataomitted");
    private static final String TYPE = "type";
    private static final String TIME = "time";
    private static final String OMITTED = "tensorsomitted";

    private CombinedEncoding() {}

    /** @param response null if there is none */
    static CloudEvent of(String type, CloudEvent request, @Nullable CloudEvent response) {
        Map<String, String> attributes = new LinkedHashMap<>();
        merge(attributes, "request", request);
        attributes.put("requesttime", attributes.getOrDefault(TIME, ""));
        JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
        try {
            json.open('{');
            write(json, "request", request);
            if (response != null) {
                merge(attributes, "response", response);
                write(json, "response", response);
            }
            json.close('}');
            byte[] data = ByteBufUtil.getBytes(json.out());
            attributes.put(TYPE, type);
            return new CloudEvent(attributes, CloudEvent.JSON, data, data.length);
        } finally {
            json.release();
        }
    }

    private static void merge(Map<String, String> attributes, String side, CloudEvent event) {
        event.attributes().forEach((name, value) -> {
            if (name.equals(OMITTED)) {
                attributes.merge(name, side, (before, also) -> "both");
            } else if (OF_EACH.contains(name)) {
                attributes.put(side + name.replace("payload", "").replace("data", ""), value);
            } else {
                attributes.put(name, value);
            }
        });
    }

    private static void write(JsonWriter json, String side, CloudEvent event) {
        if (event.hasData()) {
            json.key(event.member(side));
            json.item();
            json.out().writeBytes(event.value());
        }
    }
}

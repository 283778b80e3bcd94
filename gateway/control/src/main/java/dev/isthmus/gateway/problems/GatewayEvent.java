package dev.isthmus.gateway.problems;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Something that happened to the gateway, for the charts of its traffic. */
record GatewayEvent(Instant time, EventKind kind, String text) {

    /** What happened. */
    enum EventKind {
        RELOAD,
        RAMP_STEP,
        ROLLBACK,
        SERVER_LOST,
        SERVER_BACK
    }

    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("time", time.toString());
        document.put("kind", kind.name().toLowerCase(Locale.ROOT));
        document.put("text", text);
        return document;
    }
}

package dev.isthmus.gateway.payloadlog;

import org.jspecify.annotations.Nullable;

/**
 * An event that waits to be encoded: a request, a response, or a request with its response. Owns its payloads.
 *
 * @param response if the two are combined; null if there is none
 */
record QueuedEvent(PayloadEvent event, @Nullable PayloadEvent response, boolean combined) {
    /** A request or a response. */
    QueuedEvent(PayloadEvent event) {
        this(event, null, false);
    }

    /** Bytes that are reserved for its payloads. */
    long held() {
        return event.held() + (response == null ? 0 : response.held());
    }

    void release() {
        event.release();
        if (response != null) {
            response.release();
        }
    }
}

package dev.isthmus.gateway.payloadlog;

import org.jspecify.annotations.Nullable;

/**
 * A request with its response.
 *
 * @param response null if there is none
 */
record CombinedEvent(PayloadEvent request, @Nullable PayloadEvent response) implements QueuedEvent {
    @Override
    public long held() {
        return request.held() + (response == null ? 0 : response.held());
    }

    @Override
    public void release() {
        request.release();
        if (response != null) {
            response.release();
        }
    }
}

package dev.isthmus.gateway.replay;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * One inference request that is sent a number of times.
 *
 * @param request its body, as JSON
 * @param count how often it is sent
 */
public record InferSettings(ServerConnection connection, ModelRef model, String request, int count) {

    /**
     * Checks the request.
     *
     * @throws dev.isthmus.oip.OipException INVALID_ARGUMENT if it is not valid
     */
    public void check() {
        decoded().request().release();
    }

    /** The decoded request, owned by the caller. */
    RestRequest decoded() {
        return ReplayClient.decoded(
                model,
                Unpooled.wrappedBuffer(request.getBytes(StandardCharsets.UTF_8)),
                RestBody.ALL_JSON,
                RecordedEvent.LIMITS);
    }
}

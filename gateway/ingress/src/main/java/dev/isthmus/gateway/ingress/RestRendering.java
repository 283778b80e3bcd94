package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/** Renders messages as REST responses. */
record RestRendering(IngressSettings settings) {

    /** Returns the response for a message (taken). */
    RestResponse of(ReplyMessage message) {
        return switch (message) {
            case ReplyMessage.Live live -> health(live.live(), JsonResponses.live(live));
            case ReplyMessage.Ready ready -> health(ready.ready(), JsonResponses.ready(ready));
            case ReplyMessage.ModelReadyState model -> health(model.ready(), JsonResponses.modelReady(model));
            case ReplyMessage.Server server -> RestResponse.json(200, JsonResponses.server(server.metadata()));
            case ReplyMessage.Model model -> RestResponse.json(200, JsonResponses.model(model.metadata()));
            case ReplyMessage.Inference inference ->
                RestResponse.inference(((InferMessage.RestMessage) inference.message()).body());
            case ReplyMessage.Part part -> throw new IllegalArgumentException("a part, not a message");
            case ReplyMessage.Document document -> RestResponse.json(200, document.content());
            case ReplyMessage.Events events -> RestResponse.events().with(events.content());
            case ReplyMessage.StreamError error -> RestResponse.error(error.failure());
        };
    }

    /** The response to a health request; "not ready" has a status other than 2xx (protocol document, Health; R2). */
    private RestResponse health(boolean ok, byte[] json) {
        IngressSettings.HealthResponses form = settings.health();
        RestResponse full = RestResponse.json(ok ? 200 : form.notReadyStatus(), json);
        return form.body() ? full : full.with(Unpooled.EMPTY_BUFFER);
    }

    /**
     * Compresses a response, unless the client accepts no coding or the size makes it pointless.
     *
     * @param plain taken
     */
    RestResponse compressed(RestResponse plain, @Nullable ContentCoding coding, ByteBufAllocator allocator) {
        if (coding == null
                || plain.body().readableBytes() <= settings.compressAbove()
                || plain.body().readableBytes() > ContentCoding.MOST_COMPRESSED) {
            return plain;
        }
        return plain.with(coding.compress(allocator, plain.body()))
                .with("content-encoding", coding.token())
                .with("vary", "accept-encoding");
    }
}

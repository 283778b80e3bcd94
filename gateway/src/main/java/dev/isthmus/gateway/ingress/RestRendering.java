package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/** Answers as REST responses. */
record RestRendering(IngressSettings settings) {

    /** The response with an answer in it, whose buffers it takes. */
    RestResponse of(Answer answer) {
        return switch (answer) {
            case Answer.Live live -> health(live.live(), JsonAnswers.live(live));
            case Answer.Ready ready -> health(ready.ready(), JsonAnswers.ready(ready));
            case Answer.ModelReady model -> health(model.ready(), JsonAnswers.modelReady(model));
            case Answer.Server server -> RestResponse.json(200, JsonAnswers.server(server.metadata()));
            case Answer.Model model -> RestResponse.json(200, JsonAnswers.model(model.metadata()));
            case Answer.Inference inference -> RestResponse.inference(((InferMessage.Rest) inference.message()).body());
            case Answer.Part part -> throw new IllegalArgumentException("a part, not an answer");
            case Answer.Document document -> RestResponse.json(200, document.content());
            case Answer.Events events -> RestResponse.events().with(events.content());
            case Answer.StreamError error -> RestResponse.error(error.failure());
        };
    }

    /** A health request's "no" is a status that is no 2xx (protocol document, Health; R2). */
    private RestResponse health(boolean yes, byte[] json) {
        IngressSettings.Health form = settings.health();
        RestResponse full = RestResponse.json(yes ? 200 : form.notReadyStatus(), json);
        return form.body() ? full : full.with(Unpooled.EMPTY_BUFFER);
    }

    /**
     * A response as its client accepts it: not compressed where it accepts none, or where that is not worth it.
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

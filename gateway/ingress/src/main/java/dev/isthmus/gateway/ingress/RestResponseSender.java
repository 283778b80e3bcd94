package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sends the response to one REST request: as a whole, in parts as they arrive, or as server-sent events. The status
 * of events is sent with the first one, so a later failure is an event.
 */
final class RestResponseSender {
    private final ResponseWriter writer;
    private final RestRendering rendering;
    private final CallContext context;
    private Map<String, String> headers = Map.of();
    private boolean events;
    private @Nullable ContentCoding accepted;
    /** A message that is sent when the call completes. */
    private @Nullable RestResponse whole;

    private boolean headWritten;
    private boolean forwarding;

    RestResponseSender(ResponseWriter writer, IngressSettings settings, CallContext context) {
        this.writer = writer;
        this.rendering = new RestRendering(settings);
        this.context = context;
    }

    /**
     * Sets the form that the request asks for.
     *
     * @param streamed whether it is a stream of events
     * @param coding the content coding that the client accepts; null if there is none, or the response is not
     *     compressed
     */
    void form(boolean streamed, @Nullable ContentCoding coding) {
        events = streamed;
        accepted = coding;
    }

    /** Whether a response of this length may be sent in parts. */
    boolean acceptsParts(long length) {
        return !events && writer.abortable() && (accepted == null || length > ContentCoding.MOST_COMPRESSED);
    }

    /** Adds headers, unless the head has been written. */
    void headers(Map<String, String> more) {
        if (!headWritten && !more.isEmpty()) {
            headers = ReturnedFields.merged(headers, more);
        }
    }

    /**
     * Adds a message (taken). One that follows a complete response is dropped.
     *
     * @throws OipException OVERLOADED if there is no memory for it, or the failure of a stream that has sent no event
     */
    void add(ReplyMessage message) {
        if (whole != null) {
            message.release();
        } else if (message instanceof ReplyMessage.Part part) {
            forwarding = true;
            begin(RestResponse.passed(part));
            write(part.bytes());
        } else if (message instanceof ReplyMessage.StreamError error) {
            error(error.failure());
        } else if (events) {
            event(message);
        } else {
            keep(message);
        }
    }

    private void event(ReplyMessage message) {
        switch (message) {
            case ReplyMessage.Inference inference -> {
                begin(RestResponse.events());
                ByteBuf json =
                        ((InferMessage.RestMessage) inference.message()).body().content();
                write(EventWriter.event(context.allocator(), json));
            }
            case ReplyMessage.Events forwarded -> {
                begin(RestResponse.events());
                write(forwarded.content());
            }
            // A server that does not stream sent one complete response.
            default -> keep(message);
        }
    }

    private void error(OipException failure) {
        if (!events || !headWritten) {
            throw failure;
        }
        writer.part(errorEvent(failure));
    }

    private void keep(ReplyMessage message) {
        RestResponse rendered = rendering.of(message);
        whole = rendered;
        context.memory().response(writer.queued() + rendered.body().readableBytes());
    }

    private void begin(RestResponse head) {
        if (!headWritten) {
            headWritten = true;
            writer.begin(head.with(headers));
        }
    }

    /** Writes the part (taken). */
    private void write(ByteBuf part) {
        try {
            context.memory().response(writer.queued() + part.readableBytes());
        } catch (OipException refused) {
            part.release();
            throw refused;
        }
        writer.part(part);
        context.memory().response(writer.queued());
    }

    private ByteBuf errorEvent(OipException failure) {
        return EventWriter.event(context.allocator(), Unpooled.wrappedBuffer(JsonResponses.error(failure.message())));
    }

    /** Whether it can be completed; if not, the upstream sent no message. */
    boolean hasMessage() {
        return whole != null || forwarding || events;
    }

    /** Writes what is left of it. */
    void complete() {
        RestResponse complete = whole;
        whole = null;
        if (complete != null) {
            respond(rendering.compressed(complete.with(headers), accepted, context.allocator()));
        } else {
            begin(RestResponse.events());
            writer.endBody();
        }
    }

    /** Ends it with a failure, in the form that is still possible. */
    void fail(OipException failure) {
        release();
        if (forwarding) {
            writer.abort();
            context.memory().release();
        } else if (headWritten) {
            writer.part(errorEvent(failure));
            writer.endBody();
        } else {
            respond(RestResponse.error(failure).with(headers));
        }
    }

    /** A body after HEAD would be parsed as the next response. */
    private void respond(RestResponse response) {
        boolean headOnly = context.headers().method().equals("HEAD");
        writer.respond(headOnly ? response.withoutBody() : response);
        context.memory().response(writer.queued());
    }

    /** Releases what was not written. */
    void release() {
        if (whole != null) {
            whole.body().release();
            whole = null;
        }
    }
}

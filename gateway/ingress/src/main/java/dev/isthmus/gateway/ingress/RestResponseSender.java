package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sends the response to one REST request: as a whole, in parts as they arrive, or as server-sent events. The status
 * of events is sent with the first one, so a later failure is an event.
 */
final class RestResponseSender {
    private final ResponseWriter writer;
    private final IngressSettings settings;
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
        this.settings = settings;
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
            headers = RestResponse.merged(headers, more);
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
        RestResponse rendered = rendered(message);
        whole = rendered;
        context.memory().response(writer.queued() + rendered.body().readableBytes());
    }

    /** Returns the response for a message (taken). */
    private RestResponse rendered(ReplyMessage message) {
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
    private RestResponse compressed(RestResponse plain, @Nullable ContentCoding coding) {
        if (coding == null
                || plain.body().readableBytes() <= settings.compressAbove()
                || plain.body().readableBytes() > ContentCoding.MOST_COMPRESSED) {
            return plain;
        }
        return plain.with(coding.compress(context.allocator(), plain.body()))
                .with("content-encoding", coding.token())
                .varying("accept-encoding");
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
            respond(compressed(complete.with(headers), accepted));
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

    /** Frames JSON as server-sent events (WHATWG HTML, "Server-sent events"). */
    private static final class EventWriter {
        private static final ByteBuf START = constant("data: ");
        private static final ByteBuf END = constant("\n\n");

        private EventWriter() {}

        private static ByteBuf constant(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            ByteBuffer direct =
                    ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
            return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(direct).asReadOnly());
        }

        /** Returns the event, owned by the caller; {@code json} is taken. */
        static ByteBuf event(ByteBufAllocator allocator, ByteBuf json) {
            // A line break would end the event; in JSON it can only stand between tokens.
            for (int at = lineEnd(json, json.readerIndex()); at >= 0; at = lineEnd(json, at)) {
                json.setByte(at, ' ');
            }
            return allocator.compositeBuffer(3).addComponents(true, START.duplicate(), json, END.duplicate());
        }

        private static int lineEnd(ByteBuf json, int from) {
            return json.forEachByte(from, json.writerIndex() - from, b -> b != '\n' && b != '\r');
        }
    }
}

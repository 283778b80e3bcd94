package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The response of one inference: converted to the form that the client asked for, and sent to it as a whole, while it
 * arrives, or as fast as the client reads.
 */
final class OutgoingResponse {
    private final Exchange exchange;
    private final CallContext context;
    private final Transcoder transcoder;
    private ResponseForm form = ResponseForm.DECODED;
    private @Nullable PassThroughJson passThrough;
    private @Nullable JsonResponseWriter text;
    /** Whether the server's response is complete. */
    private boolean received;

    OutgoingResponse(Exchange exchange, Transcoder transcoder) {
        this.exchange = exchange;
        this.context = exchange.context();
        this.transcoder = transcoder;
    }

    /** Sets the form of the response to the request that is about to be sent. */
    void form(ResponseForm requested) {
        form = requested;
    }

    /** Whether it may arrive in parts, see {@link Reply#acceptsParts}. */
    boolean acceptsParts(Wire wire, long length) {
        return form.passesParts(wire) && exchange.acceptsParts(wire, length);
    }

    /**
     * Sends a complete message.
     *
     * @param message taken
     * @param streamed whether further messages may follow
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it cannot be converted, OVERLOADED if there is no
     *     memory
     */
    void message(InferMessage message, boolean streamed) {
        if (streamed || !Transcoder.writesText(message, form)) {
            InferMessage converted = transcoder.response(context.allocator(), message, form, context.memory()::source);
            context.memory().source(0);
            exchange.message(new ReplyMessage.Inference(converted));
        } else {
            text(transcoder.text(context.allocator(), message, form, context.memory()::source));
        }
    }

    private void text(JsonResponseText json) {
        if (json.inParts() && exchange.acceptsParts(Wire.REST, json.bytes())) {
            exchange.responding();
            text = new JsonResponseWriter(json, context.memory(), exchange);
            text.begin();
        } else {
            RestBody whole = json.whole();
            context.memory().source(0);
            exchange.message(new ReplyMessage.Inference(new InferMessage.RestMessage(whole)));
        }
    }

    /**
     * Forwards a part.
     *
     * @param part taken
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it violates the protocol, OVERLOADED if there is no
     *     memory
     */
    void part(ReplyMessage.Part part) {
        if (form.wire() != Wire.REST) {
            exchange.message(part);
            return;
        }
        if (passThrough == null) {
            passThrough =
                    new PassThroughJson(context.allocator(), context.memory(), transcoder, part.jsonLength(), form);
        }
        ReplyMessage.Part checked = passThrough.add(part);
        if (checked != null) {
            exchange.message(checked);
        }
    }

    /** Whether it is written as fast as the client reads. */
    boolean isWriting() {
        return text != null;
    }

    /** Writes as much as the client accepts now. */
    void write() {
        if (text != null) {
            text.write();
        }
    }

    /** The server's response is complete. */
    void complete() {
        received = true;
    }

    /** Whether all of it was received, and, if it is written as fast as the client reads, written. */
    boolean isComplete() {
        return received && (text == null || text.written());
    }

    /**
     * Forwards what was held until the response was complete.
     *
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if parts of it were sent and it is not complete
     */
    void end() {
        ReplyMessage.Part last = passThrough == null ? null : passThrough.end();
        if (last != null) {
            exchange.message(last);
        }
    }

    /** Releases everything. Idempotent. */
    void release() {
        if (passThrough != null) {
            passThrough.release();
        }
        if (text != null) {
            text.release();
        }
    }

    /** Writes a large JSON response as fast as its client reads it. The call holds the tensors until the last part. */
    private static final class JsonResponseWriter {
        private final JsonResponseText text;
        private final MemoryBudget.MemoryReservation memory;
        private final Reply client;
        /** A client that consumes a part at once calls back before the part's write has returned. */
        private boolean writing;

        private boolean finished;

        /** @param text taken */
        JsonResponseWriter(JsonResponseText text, MemoryBudget.MemoryReservation memory, Reply client) {
            this.text = text;
            this.memory = memory;
            this.client = client;
        }

        /**
         * Starts to write, and counts the source instead of the received bytes.
         *
         * @throws dev.isthmus.oip.OipException OVERLOADED if there is no memory
         */
        void begin() {
            memory.written(text.bytes());
            write();
        }

        /** Writes as much as the client accepts now. */
        void write() {
            if (writing) {
                return;
            }
            writing = true;
            while (!finished && client.isReady()) {
                ByteBuf part = text.next();
                if (part == null) {
                    release();
                } else {
                    client.message(new ReplyMessage.Part(part, ReplyMessage.Part.UNKNOWN, RestBody.ALL_JSON));
                }
            }
            writing = false;
        }

        /** Whether all of it was written. */
        boolean written() {
            return finished;
        }

        /** Releases everything. Idempotent. */
        void release() {
            if (!finished) {
                finished = true;
                text.release();
                memory.source(0);
            }
        }
    }
}

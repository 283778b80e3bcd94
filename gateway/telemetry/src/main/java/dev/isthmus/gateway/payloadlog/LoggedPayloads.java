package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes the events of one call. Events of a kind that is not configured are left out. Confined to its event loop. */
final class LoggedPayloads {
    private final PayloadLog log;
    private final CallFacts facts;
    private final Call call;
    // Of a call whose request and response are one event:
    private @Nullable PayloadEvent request;
    private @Nullable PayloadEvent response;
    private boolean full;

    LoggedPayloads(PayloadLog log, CallFacts facts, Call call) {
        this.log = log;
        this.facts = facts;
        this.call = call;
    }

    boolean wants(PayloadKind kind) {
        return log.wants(kind);
    }

    PayloadBuffer buffer() {
        return log.buffer(call);
    }

    /**
     * Logs what was gathered.
     *
     * @param suffix what follows the request id in the event's id
     * @param buffer taken
     * @param payload makes the payload of the gathered bytes (taken)
     */
    void add(
            PayloadKind kind,
            ModelRef model,
            String suffix,
            PayloadBuffer buffer,
            Function<ByteBuf, EventPayload> payload) {
        if (!log.wants(kind)) {
            buffer.release();
            return;
        }
        switch (buffer.state()) {
            case GATHERING -> {
                long bytes = buffer.size();
                add(kind, model, suffix, null, payload.apply(buffer.take()), bytes, bytes);
            }
            case TOO_LARGE ->
                add(kind, model, suffix, null, new EventPayload.Missing(MissingData.SIZE), buffer.size(), 0);
            case NO_MEMORY -> full();
        }
    }

    /** Logs a complete response (borrowed). */
    void add(ModelRef model, String suffix, InferMessage response) {
        PayloadBuffer buffer = buffer();
        switch (response) {
            case InferMessage.RestMessage(RestBody body) -> {
                buffer.add(body.content());
                add(
                        PayloadKind.RESPONSE,
                        model,
                        suffix,
                        buffer,
                        bytes -> new EventPayload.Message(
                                new InferMessage.RestMessage(new RestBody(bytes, body.jsonLength()))));
            }
            case InferMessage.ProtobufMessage(ByteBuf message) -> {
                buffer.add(message);
                add(
                        PayloadKind.RESPONSE,
                        model,
                        suffix,
                        buffer,
                        bytes -> new EventPayload.Message(new InferMessage.ProtobufMessage(bytes)));
            }
            case InferMessage.DecodedRequest request -> buffer.release();
            case InferMessage.Response decoded -> buffer.release();
        }
    }

    /** Logs a body that is not complete. */
    void missing(PayloadKind kind, ModelRef model, long bytes) {
        if (log.wants(kind)) {
            add(kind, model, "", null, new EventPayload.Missing(MissingData.INCOMPLETE), bytes, 0);
        }
    }

    /**
     * Logs a response that is an error.
     *
     * @param id of the message of a stream that failed; empty for none
     */
    void error(ModelRef model, String suffix, OipException failure, String id) {
        if (log.wants(PayloadKind.RESPONSE)) {
            EventPayload text = new EventPayload.FailureText(failure.message(), id);
            add(PayloadKind.RESPONSE, model, suffix, failure.code(), text, 0, 0);
        }
    }

    private void add(
            PayloadKind kind,
            ModelRef model,
            String suffix,
            @Nullable ErrorCode code,
            EventPayload payload,
            long bytes,
            long held) {
        String id = call.context().requestId() + suffix;
        queue(new PayloadEvent(facts, kind, model, id, System.currentTimeMillis(), code, payload, bytes, held));
    }

    /** Whether the request and the response of the call are one event: not if there may be several. */
    private boolean combines() {
        return log.combines() && !facts.stream();
    }

    private void queue(PayloadEvent event) {
        if (!combines()) {
            log.add(event);
        } else if (event.kind() == PayloadKind.REQUEST) {
            discard(request);
            request = event;
        } else {
            discard(response);
            response = event;
        }
    }

    private void full() {
        if (combines()) {
            full = true;
        } else {
            log.full();
        }
    }

    private void discard(@Nullable PayloadEvent event) {
        if (event != null) {
            log.discard(event);
        }
    }

    /** The call has ended: its event is complete if request and response are one. Idempotent. */
    void ended() {
        if (request != null && !full) {
            log.add(new CombinedEvent(request, response));
        } else {
            discard(request);
            discard(response);
            if (full) {
                log.full();
            }
        }
        request = null;
        response = null;
        full = false;
    }
}

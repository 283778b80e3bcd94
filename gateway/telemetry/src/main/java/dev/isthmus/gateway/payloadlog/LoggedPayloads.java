package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.MissingData;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the log sees of one call, and the events that it makes of it; those of a kind that is not configured are left
 * out. Buffers are borrowed. Confined to the call's event loop.
 */
abstract sealed class LoggedPayloads permits LoggedCall, LoggedStream {
    final PayloadLog log;
    private final CallFacts facts;
    private final Call call;

    LoggedPayloads(PayloadLog log, CallFacts facts, Call call) {
        this.log = log;
        this.facts = facts;
        this.call = call;
    }

    /** A part of the request, or a message of the stream. */
    abstract void requested(ByteBuf part);

    void requestComplete() {}

    abstract void responded(ReplyMessage message);

    /** @param failure null if it is complete */
    abstract void ended(@Nullable OipException failure);

    final PayloadBuffer buffer() {
        return log.buffer(call);
    }

    /**
     * @param suffix what follows the request id in the event's id
     * @param buffer taken
     * @param payload makes the payload of the gathered bytes (taken)
     */
    final void add(
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
            case NO_MEMORY -> log.full();
        }
    }

    /** Logs bytes that are all of a request or response. */
    final void add(
            PayloadKind kind, ModelRef model, String suffix, ByteBuf bytes, Function<ByteBuf, EventPayload> payload) {
        PayloadBuffer buffer = buffer();
        buffer.add(bytes);
        add(kind, model, suffix, buffer, payload);
    }

    final void add(ModelRef model, String suffix, InferMessage response) {
        switch (response) {
            case InferMessage.RestMessage(RestBody body) ->
                add(PayloadKind.RESPONSE, model, suffix, body.content(), bytes -> rest(bytes, body.jsonLength()));
            case InferMessage.ProtobufMessage(ByteBuf message) ->
                add(PayloadKind.RESPONSE, model, suffix, message, LoggedPayloads::protobuf);
            case InferMessage.DecodedRequest request -> {}
            case InferMessage.Response decoded -> {}
        }
    }

    /** @param bytes taken */
    static EventPayload rest(ByteBuf bytes, long jsonLength) {
        return new EventPayload.Message(new InferMessage.RestMessage(new RestBody(bytes, jsonLength)));
    }

    /** @param bytes taken */
    static EventPayload protobuf(ByteBuf bytes) {
        return new EventPayload.Message(new InferMessage.ProtobufMessage(bytes));
    }

    final void missing(PayloadKind kind, ModelRef model, long bytes) {
        if (log.wants(kind)) {
            add(kind, model, "", null, new EventPayload.Missing(MissingData.INCOMPLETE), bytes, 0);
        }
    }

    /**
     * Logs a response that is an error.
     *
     * @param id of the message of a stream that failed; empty for none
     */
    final void error(ModelRef model, String suffix, OipException failure, String id) {
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
        // A response may say that the request has failed, after it has begun.
        ErrorCode known =
                code == null && kind == PayloadKind.RESPONSE ? call.context().code() : code;
        log.add(new PayloadEvent(facts, kind, model, id, System.currentTimeMillis(), known, payload, bytes, held));
    }
}

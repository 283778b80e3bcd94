package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.ForwardingSink;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.OpaqueBodyKind;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The log of one inference, or of one request of the generate extension: the request as the client sends it, and its
 * response, or responses, as the client gets them. Confined to the call's event loop.
 */
final class LoggedCall {
    private final LoggedPayloads log;
    private final Operation operation;
    private final ModelRef model;
    private final boolean numbered;
    private final PayloadBuffer request;
    private @Nullable PayloadBuffer parts;
    private long partsJson = RestBody.ALL_JSON;
    private int responses;
    private boolean requested;
    private boolean ended;

    LoggedCall(PayloadLog log, CallFacts facts, Call call) {
        this.log = new LoggedPayloads(log, facts, call);
        operation = call.operation();
        model = Objects.requireNonNull(operation.requestedModel());
        numbered = facts.stream();
        request = log.buffer(call);
    }

    /** The request (taken), shown to the log. */
    RequestSink request(RequestSink sink) {
        return new LoggedBody(sink);
    }

    /** The reply, shown to the log. */
    Reply reply(Reply client) {
        return new LoggedResponse(client);
    }

    private void requestComplete() {
        if (!requested) {
            requested = true;
            log.add(PayloadKind.REQUEST, model, "", request, this::requestOf);
        }
    }

    private EventPayload requestOf(ByteBuf body) {
        if (!(operation instanceof Operation.Infer infer)) {
            return new EventPayload.OpaqueBody(body, OpaqueBodyKind.JSON);
        }
        return switch (infer.form()) {
            case BodyForm.RestForm rest ->
                rest.jsonLength() == 0
                        ? new EventPayload.OpaqueBody(body, OpaqueBodyKind.RAW)
                        : new EventPayload.Message(new InferMessage.RestMessage(new RestBody(body, rest.jsonLength())));
            case BodyForm.ProtobufForm protobuf -> new EventPayload.Message(new InferMessage.ProtobufMessage(body));
        };
    }

    private void requestCut() {
        if (!requested) {
            requested = true;
            log.missing(PayloadKind.REQUEST, model, request.size());
        }
        request.release();
    }

    /** What follows the request id in the id of a response: its number, if there may be several. */
    private String suffix() {
        responses++;
        return numbered ? "-" + responses : "";
    }

    private void responded(InferMessage message) {
        log.add(model, suffix(), message);
    }

    /** @param jsonLength of the response, the same in all its parts */
    private void part(ByteBuf bytes, long jsonLength) {
        PayloadBuffer gathered = parts;
        if (gathered == null) {
            gathered = log.buffer();
            parts = gathered;
            partsJson = jsonLength;
        }
        gathered.add(bytes);
    }

    private void generated(ByteBuf document) {
        PayloadBuffer buffer = log.buffer();
        buffer.add(document);
        log.add(
                PayloadKind.RESPONSE,
                model,
                suffix(),
                buffer,
                bytes -> new EventPayload.OpaqueBody(bytes, OpaqueBodyKind.JSON));
    }

    private EventPayload responseOf(ByteBuf body) {
        if (!(operation instanceof Operation.Infer infer)) {
            return new EventPayload.OpaqueBody(body, OpaqueBodyKind.EVENTS);
        }
        return new EventPayload.Message(
                infer.form() instanceof BodyForm.RestForm
                        ? new InferMessage.RestMessage(new RestBody(body, partsJson))
                        : new InferMessage.ProtobufMessage(body));
    }

    private void completed() {
        if (!ended) {
            ended = true;
            requestCut();
            PayloadBuffer gathered = parts;
            if (gathered != null) {
                log.add(PayloadKind.RESPONSE, model, suffix(), gathered, this::responseOf);
            }
            log.ended();
        }
    }

    private void failed(OipException failure) {
        if (!ended) {
            ended = true;
            requestCut();
            releaseParts();
            log.error(model, suffix(), failure, "");
            log.ended();
        }
    }

    private void cancelled() {
        failed(new OipException(ErrorCode.CANCELLED, "the client cancelled the call"));
    }

    private void releaseParts() {
        if (parts != null) {
            parts.release();
        }
    }

    private final class LoggedBody extends ForwardingSink {
        LoggedBody(RequestSink sink) {
            super(sink);
        }

        @Override
        public void data(ByteBuf chunk) {
            if (!requested && log.wants(PayloadKind.REQUEST)) {
                request.add(chunk);
            }
            super.data(chunk);
        }

        @Override
        public void end() {
            if (!ended) {
                requestComplete();
            }
            super.end();
        }

        @Override
        public void cancel() {
            cancelled();
            super.cancel();
        }
    }

    private final class LoggedResponse extends ForwardingReply {
        LoggedResponse(Reply client) {
            super(client);
        }

        @Override
        public void message(ReplyMessage message) {
            if (!ended && log.wants(PayloadKind.RESPONSE)) {
                switch (message) {
                    case ReplyMessage.Inference inference -> responded(inference.message());
                    case ReplyMessage.Part part -> part(part.bytes(), part.jsonLength());
                    case ReplyMessage.Document document -> generated(document.content());
                    case ReplyMessage.Events events -> part(events.content(), RestBody.ALL_JSON);
                    case ReplyMessage.StreamError error -> log.error(model, suffix(), error.failure(), error.id());
                    default -> {}
                }
            }
            super.message(message);
        }

        @Override
        public void complete() {
            completed();
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            failed(failure);
            super.fail(failure);
        }
    }
}

package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.OpaqueBodyKind;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The log of one inference, or of one request of the generate extension: the request as the client sends it, and its
 * response, or responses, as the client gets them. Confined to the call's event loop.
 */
final class LoggedCall extends LoggedPayloads {
    private final Operation operation;
    private final ModelRef model;
    private final boolean numbered;
    private final PayloadBuffer request;
    private @Nullable PayloadBuffer parts;
    private long partsJson = RestBody.ALL_JSON;
    private int responses;
    private boolean requested;

    LoggedCall(PayloadLog log, CallFacts facts, Call call) {
        super(log, facts, call);
        operation = call.operation();
        model = Objects.requireNonNull(operation.requestedModel());
        numbered = facts.stream();
        request = buffer();
    }

    @Override
    void requested(ByteBuf part) {
        if (log.wants(PayloadKind.REQUEST)) {
            request.add(part);
        }
    }

    @Override
    void requestComplete() {
        requested = true;
        add(PayloadKind.REQUEST, model, "", request, this::requestOf);
    }

    private EventPayload requestOf(ByteBuf body) {
        if (!(operation instanceof Operation.Infer infer)) {
            return new EventPayload.OpaqueBody(body, OpaqueBodyKind.JSON);
        }
        return switch (infer.form()) {
            case BodyForm.RestForm rest ->
                rest.jsonLength() == 0
                        ? new EventPayload.OpaqueBody(body, OpaqueBodyKind.RAW)
                        : rest(body, rest.jsonLength());
            case BodyForm.ProtobufForm protobuf -> protobuf(body);
        };
    }

    /** What follows the request id in the id of a response: its number, if there may be several. */
    private String suffix() {
        responses++;
        return numbered ? "-" + responses : "";
    }

    /** @param jsonLength of the response, the same in all its parts */
    private void part(ByteBuf bytes, long jsonLength) {
        PayloadBuffer gathered = parts;
        if (gathered == null) {
            gathered = buffer();
            parts = gathered;
            partsJson = jsonLength;
        }
        gathered.add(bytes);
    }

    private EventPayload responseOf(ByteBuf body) {
        if (!(operation instanceof Operation.Infer infer)) {
            return new EventPayload.OpaqueBody(body, OpaqueBodyKind.EVENTS);
        }
        return infer.form() instanceof BodyForm.RestForm ? rest(body, partsJson) : protobuf(body);
    }

    @Override
    void responded(ReplyMessage message) {
        if (log.wants(PayloadKind.RESPONSE)) {
            switch (message) {
                case ReplyMessage.Inference inference -> add(model, suffix(), inference.message());
                case ReplyMessage.Part part -> part(part.bytes(), part.jsonLength());
                case ReplyMessage.Document document ->
                    add(
                            PayloadKind.RESPONSE,
                            model,
                            suffix(),
                            document.content(),
                            bytes -> new EventPayload.OpaqueBody(bytes, OpaqueBodyKind.JSON));
                case ReplyMessage.Events events -> part(events.content(), RestBody.ALL_JSON);
                case ReplyMessage.StreamError error -> error(model, suffix(), error.failure(), error.id());
                default -> {}
            }
        }
    }

    @Override
    void ended(@Nullable OipException failure) {
        if (!requested) {
            missing(PayloadKind.REQUEST, model, request.size());
        }
        request.release();
        PayloadBuffer gathered = parts;
        if (failure != null) {
            if (gathered != null) {
                gathered.release();
            }
            error(model, suffix(), failure, "");
        } else if (gathered != null) {
            add(PayloadKind.RESPONSE, model, suffix(), gathered, this::responseOf);
        }
    }
}

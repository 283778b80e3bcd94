package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The log of a stream of inferences: an event for each message in either direction, if its model is sampled. The ids of
 * requests and of responses are numbered separately. Confined to the call's event loop.
 */
final class LoggedStream extends LoggedPayloads {
    private final double draw;
    /** The model of the last request that names one, or has ended. */
    private ModelRef last = ModelRef.of("");

    private int requests;
    private int responses;

    /** @param draw as of {@link PayloadLog#draw()} */
    LoggedStream(PayloadLog log, CallFacts facts, Call call, double draw) {
        super(log, facts, call);
        this.draw = draw;
    }

    @Override
    void requested(ByteBuf message) {
        requests++;
        try {
            last = ProtobufReader.outline(message).model();
        } catch (OipException malformed) {
            // Its response is an error, which is logged.
            return;
        }
        if (log.samples(draw, last) && log.wants(PayloadKind.REQUEST)) {
            add(PayloadKind.REQUEST, last, "-" + requests, message, LoggedPayloads::protobuf);
        }
    }

    private void responded(InferMessage message) {
        responses++;
        ModelRef model = last;
        if (message instanceof InferMessage.ProtobufMessage(ByteBuf bytes)) {
            try {
                // The fields that are read have the same numbers in a response.
                model = ProtobufReader.outline(bytes).model();
            } catch (OipException malformed) {
                model = last;
            }
        }
        if (log.samples(draw, model)) {
            add(model, "-" + responses, message);
        }
    }

    /** A request for this model has ended: if it has failed, its error follows. */
    void finished(@Nullable ModelRef model) {
        last = model == null ? last : model;
    }

    private void error(OipException failure, String id) {
        responses++;
        if (log.samples(draw, last)) {
            error(last, "-" + responses, failure, id);
        }
    }

    @Override
    void responded(ReplyMessage message) {
        if (message instanceof ReplyMessage.Inference inference) {
            responded(inference.message());
        } else if (message instanceof ReplyMessage.StreamError failed) {
            error(failed.failure(), failed.id());
        }
    }

    @Override
    void ended(@Nullable OipException failure) {
        if (failure != null) {
            error(failure, "");
        }
    }
}

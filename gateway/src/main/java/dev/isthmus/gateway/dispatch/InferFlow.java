package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBuf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One inference: its request is gathered and put on the upstream's wire, its answer on the client's. The target is chosen
 * before the body is read, so that the body is read in the form that the target wants.
 */
final class InferFlow implements RequestSink, Reply {
    private static final Logger LOG = LoggerFactory.getLogger(InferFlow.class);

    private final Call call;
    private final Target target;
    private final Reply client;
    private final Wire clientWire;
    private final Transcoder transcoder;
    private final RequestBody body;
    private Cancellation underWay = Cancellation.NONE;
    private boolean over;

    InferFlow(Call call, BodyForm form, Target target, Reply client, Transcoder transcoder, WireLimits limits) {
        this.call = call;
        this.target = target;
        this.client = client;
        this.transcoder = transcoder;
        Upstream upstream = target.upstream();
        Wire wire = upstream.wire();
        boolean binary = upstream.binaryTensorData();
        this.clientWire = form instanceof BodyForm.Rest ? Wire.REST : Wire.PROTOBUF;
        this.body = switch (form) {
            case BodyForm.Rest rest ->
                new JsonBody(transcoder, call.allocator(), target.model(), rest.jsonLength(), wire, binary, limits);
            case BodyForm.Protobuf protobuf -> new ProtobufBody(transcoder, call.allocator(), wire, binary);
        };
    }

    @Override
    public void data(ByteBuf chunk) {
        if (over) {
            chunk.release();
            return;
        }
        try {
            body.add(chunk);
        } catch (OipException failure) {
            fail(failure);
        } catch (RuntimeException fault) {
            fail(fault(fault));
        }
    }

    @Override
    public void end() {
        if (over) {
            return;
        }
        try {
            InferMessage message = body.finish();
            underWay = target.upstream().infer(call, target.model(), message, this);
        } catch (OipException failure) {
            fail(failure);
        } catch (RuntimeException fault) {
            fail(fault(fault));
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            body.release();
            underWay.cancel();
        }
    }

    @Override
    public void message(Answer answer) {
        if (over || !(answer instanceof Answer.Inference inference)) {
            answer.release();
            return;
        }
        try {
            client.message(new Answer.Inference(
                    transcoder.response(call.allocator(), inference.message(), clientWire, body.outputForms())));
        } catch (OipException failure) {
            fail(failure);
        } catch (RuntimeException fault) {
            fail(fault(fault));
        }
    }

    @Override
    public void complete() {
        if (!over) {
            over = true;
            client.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!over) {
            over = true;
            body.release();
            client.fail(failure);
        }
    }

    private OipException fault(RuntimeException fault) {
        LOG.error(
                "inference on {} of upstream '{}'",
                target.model(),
                target.upstream().name(),
                fault);
        return new OipException(ErrorCode.INTERNAL, "internal error", fault);
    }
}

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.shadow.Observation;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Transcoder;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Map;
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
    private final boolean stream;
    private final Transcoder transcoder;
    private final Copied copied;
    private final RequestBody body;
    private AnswerForm form = AnswerForm.DECODED;
    private Cancellation underWay = Cancellation.NONE;
    private boolean over;

    InferFlow(
            Call call,
            Operation.Infer infer,
            Target target,
            Shadows shadows,
            Reply client,
            Transcoder transcoder,
            InferRules rules) {
        this.call = call;
        this.target = target;
        this.client = client;
        this.transcoder = transcoder;
        this.stream = infer.stream();
        this.copied = new Copied(shadows, infer.model());
        this.body = switch (infer.form()) {
            case BodyForm.Rest rest -> restBody(rest, infer.model(), rules);
            case BodyForm.Protobuf protobuf -> new ProtobufBody(transcoder, call.allocator(), protobuf.outline());
        };
    }

    private RequestBody restBody(BodyForm.Rest rest, ModelRef asked, InferRules rules) {
        if (rest.jsonLength() == 0) {
            return new RawBinaryBody(transcoder, call.allocator(), asked, stream);
        }
        return new JsonBody(
                transcoder,
                call.allocator(),
                asked,
                rest.jsonLength(),
                rest.nonFinite() == null ? rules.nonFinite() : rest.nonFinite(),
                stream,
                Reading.of(List.of(target.upstream().peer()), rest.jsonLength()),
                rules.limits());
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
            body.end();
        } catch (OipException failure) {
            fail(failure);
            return;
        } catch (RuntimeException fault) {
            fail(fault(fault));
            return;
        }
        if (body.needsMetadata()) {
            Cancellation asked = target.upstream().modelMetadata(call, target.model(), new Description());
            // The description may have come at once, and the request gone out.
            underWay = underWay == Cancellation.NONE ? asked : underWay;
        } else {
            send();
        }
    }

    private void send() {
        try {
            Upstream upstream = target.upstream();
            Prepared prepared = body.prepare(upstream.peer(), target.model());
            form = prepared.form();
            InferMessage message = prepared.message();
            underWay = stream
                    ? upstream.inferEvents(call, target.model(), message, this)
                    : upstream.infer(call, target.model(), message, this);
            copied.begin();
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
            copied.observation.ended();
            body.release();
            underWay.cancel();
        }
    }

    /** What the model is, where the request cannot be read without. */
    private final class Description implements Reply {
        @Override
        public void message(Answer answer) {
            if (answer instanceof Answer.Model model) {
                body.describe(model.metadata());
            }
        }

        @Override
        public void complete() {
            if (!over) {
                send();
            }
        }

        @Override
        public void fail(OipException failure) {
            InferFlow.this.fail(failure);
        }
    }

    /** The request for its shadows. */
    private final class Copied implements RequestSource {
        private final Shadows shadows;
        private final ModelRef asked;
        private Observation observation = Observation.NONE;

        Copied(Shadows shadows, ModelRef asked) {
            this.shadows = shadows;
            this.asked = asked;
        }

        /** The main request has gone out. */
        void begin() {
            if (over) {
                body.release();
            } else {
                observation = shadows.begin(call, asked, this);
            }
        }

        @Override
        public Map<String, Parameter> parameters() {
            return body.parameters();
        }

        @Override
        public InferMessage prepare(Peer peer, ModelRef model) {
            return body.prepare(peer, model).message();
        }

        @Override
        public void release() {
            body.release();
        }
    }

    @Override
    public void resume() {
        underWay.resume();
    }

    @Override
    public boolean writable() {
        return client.writable();
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!over) {
            client.headers(headers);
        }
    }

    @Override
    public void message(Answer answer) {
        if (!over && answer instanceof Answer.StreamError) {
            client.message(answer);
            return;
        }
        if (over || !(answer instanceof Answer.Inference inference)) {
            answer.release();
            return;
        }
        try {
            copied.observation.answered(inference.message());
            client.message(new Answer.Inference(transcoder.response(call.allocator(), inference.message(), form)));
        } catch (OipException failure) {
            underWay.cancel();
            fail(failure);
        } catch (RuntimeException fault) {
            underWay.cancel();
            fail(fault(fault));
        }
    }

    @Override
    public void complete() {
        if (!over) {
            over = true;
            copied.observation.ended();
            client.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!over) {
            over = true;
            copied.observation.ended();
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

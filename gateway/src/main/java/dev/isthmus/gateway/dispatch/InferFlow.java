package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.Attributes;
import dev.isthmus.gateway.routing.Pick;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.shadow.RequestSource;
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
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One inference: its request is gathered, its target chosen, the request put on the target's wire and the answer on the
 * client's. Where it fails before an answer as servers fail, the route's fallback gets it.
 */
final class InferFlow implements RequestSink, Reply {
    private static final Logger LOG = LoggerFactory.getLogger(InferFlow.class);

    private final Operation.Infer infer;
    private final RouteCall routed;
    private final Reply client;
    private final Transcoder transcoder;
    private final RequestBody body;
    private Call call;
    private @Nullable Target fallback;
    private AnswerForm form = AnswerForm.DECODED;
    private Cancellation underWay = Cancellation.NONE;
    private boolean over;

    InferFlow(
            Call call, Operation.Infer infer, RouteCall routed, Reply client, Transcoder transcoder, InferRules rules) {
        this.call = Timeouts.within(call, routed.route().config().timeout());
        this.infer = infer;
        this.routed = routed;
        this.client = client;
        this.transcoder = transcoder;
        this.fallback = routed.route().fallback(infer.model());
        this.body = switch (infer.form()) {
            case BodyForm.Rest rest -> restBody(rest, rules);
            case BodyForm.Protobuf protobuf -> new ProtobufBody(transcoder, call.allocator(), protobuf.outline());
        };
    }

    private RequestBody restBody(BodyForm.Rest rest, InferRules rules) {
        if (rest.jsonLength() == 0) {
            return new RawBinaryBody(transcoder, call.allocator(), infer.model(), infer.stream());
        }
        return new JsonBody(
                transcoder,
                call.allocator(),
                infer.model(),
                rest.jsonLength(),
                rest.nonFinite() == null ? rules.nonFinite() : rest.nonFinite(),
                infer.stream(),
                Reading.of(routed.route(), rest.jsonLength()),
                rules.limits());
    }

    @Override
    public void data(ByteBuf chunk) {
        if (over) {
            chunk.release();
            return;
        }
        routed.received(chunk.readableBytes());
        try {
            body.add(chunk);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(failure(e));
        }
    }

    @Override
    public long held() {
        return over ? 0 : body.held();
    }

    @Override
    public void end() {
        if (over) {
            return;
        }
        try {
            routed.complete();
            body.end();
            Attributes attributes = new Attributes(call.client(), body.parameters(), body.id());
            Pick pick = routed.pick(attributes);
            call = call.withAffinity(pick.affinity(), pick.sequence());
            if (pick.sequence()) {
                // Its state is where it began.
                fallback = null;
            }
            send(pick.target(), true);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(failure(e));
        }
    }

    private void send(Target chosen, boolean first) {
        if (body.needsMetadata()) {
            Cancellation asked = chosen.upstream().modelMetadata(call, chosen.model(), new Description(chosen, first));
            // The description may have come at once, and the request gone out.
            underWay = underWay == Cancellation.NONE ? asked : underWay;
        } else {
            infer(chosen, first);
        }
    }

    private void infer(Target chosen, boolean first) {
        try {
            Upstream upstream = chosen.upstream();
            Prepared prepared = body.prepare(upstream.peer(), chosen.model());
            form = prepared.form();
            routed.sending();
            Cancellation started = infer.stream()
                    ? upstream.inferEvents(call, chosen.model(), prepared.message(), this)
                    : upstream.infer(call, chosen.model(), prepared.message(), this);
            started(started, first);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(failure(e));
        }
    }

    /** The request went out; it may have been answered, or its failure taken over, before that. */
    private void started(Cancellation started, boolean first) {
        if (over) {
            giveBack();
        } else if (!first) {
            underWay = started;
            giveBack();
        } else if (!routed.takenOver()) {
            underWay = started;
            routed.sent(call, new Copied());
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            routed.cancelled();
            giveBack();
            underWay.cancel();
        }
    }

    /** What the model is, where the request cannot be read without. */
    private final class Description implements Reply {
        private final Target described;
        private final boolean first;

        Description(Target described, boolean first) {
            this.described = described;
            this.first = first;
        }

        @Override
        public void message(Answer answer) {
            if (answer instanceof Answer.Model model) {
                body.describe(model.metadata());
            }
        }

        @Override
        public void complete() {
            if (!over) {
                infer(described, first);
            }
        }

        @Override
        public void fail(OipException failure) {
            InferFlow.this.fail(failure);
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
        routed.answered(inference.message());
        fallback = null;
        giveBack();
        try {
            client.message(new Answer.Inference(transcoder.response(call.allocator(), inference.message(), form)));
        } catch (RuntimeException | OutOfMemoryError e) {
            underWay.cancel();
            fail(failure(e));
        }
    }

    @Override
    public void complete() {
        if (!over) {
            over = true;
            routed.ended(null);
            giveBack();
            client.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (over) {
            return;
        }
        Target next = fallback;
        if (next != null && takesOver(failure)) {
            routed.takenOver(failure);
            fallback = null;
            underWay = Cancellation.NONE;
            send(next, false);
            return;
        }
        over = true;
        routed.ended(failure);
        giveBack();
        client.fail(failure);
    }

    /** Whether it failed as fleets fail, and not because of what was asked; and whether there is time left. */
    private boolean takesOver(OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0;
            default -> false;
        };
    }

    /** Gives the request back, unless copies of it are still to be made. */
    private void giveBack() {
        if (!routed.copying()) {
            body.release();
        }
    }

    /** The request, for its copies; kept as long as the fallback may need it, too. */
    private final class Copied implements RequestSource {
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
            routed.copied();
            if (over || fallback == null) {
                body.release();
            }
        }
    }

    /** What the client is told of what was thrown: a failure as it is, and nothing of a fault. */
    private OipException failure(Throwable thrown) {
        if (thrown instanceof OipException failure) {
            return failure;
        }
        if (thrown instanceof OutOfMemoryError) {
            // Of memory outside the heap: no room in the heap ends the process.
            return new OipException(ErrorCode.OVERLOADED, "there is no memory for the request now", thrown);
        }
        LOG.error("inference on {}", infer.model(), thrown);
        return new OipException(ErrorCode.INTERNAL, "internal error", thrown);
    }
}

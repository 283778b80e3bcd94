package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One inference: its request is put on the wire of the target that was chosen, and the answer on the client's. Where it fails
 * before an answer as servers fail, the route's fallback gets it.
 */
final class InferCall implements Reply {
    private static final Logger LOG = LoggerFactory.getLogger(InferCall.class);

    private final Operation.Infer infer;
    private final RouteCall routed;
    private final Reply client;
    private final Transcoder transcoder;
    private final RequestBody body;
    private Call call;
    private @Nullable Target fallback;
    private ResponseForm form = ResponseForm.DECODED;
    private Subscription underWay = Subscription.NONE;
    private @Nullable PassThroughJson passed;
    private @Nullable JsonResponseWriter text;
    /** Whether the target has nothing more to say. */
    private boolean ended;

    private boolean over;

    /** @param body what the client sends, given back when nothing needs it any more */
    InferCall(
            Call call, Operation.Infer infer, RouteCall routed, Reply client, Transcoder transcoder, RequestBody body) {
        this.call = CallTimeouts.within(call, routed.route().config().timeout());
        this.infer = infer;
        this.routed = routed;
        this.client = client;
        this.transcoder = transcoder;
        this.fallback = routed.route().fallback(infer.model());
        this.body = body;
    }

    /** Whether another target takes over from one that fails. */
    boolean hasFallback() {
        return fallback != null;
    }

    /** Whether the call has ended: nothing is done any more. */
    boolean over() {
        return over;
    }

    /** Sends the body, which is complete, to where it was chosen to go. */
    void send(TargetSelection pick) {
        place(pick);
        send(pick.target(), true);
    }

    /**
     * Sends the request in parts from now on.
     *
     * @return null where it is to be gathered for the target that was chosen
     */
    @Nullable
    RequestUpload pass(TargetSelection pick, StreamedRequest passing) {
        Target target = pick.target();
        StreamedRequest.StreamedMessage begun = passing.start(target.upstream().peer(), target.model());
        if (begun == null) {
            return null;
        }
        place(pick);
        form = begun.form();
        routed.sending();
        RequestUpload upload = new RequestUpload(passing, this);
        underWay = upload;
        upload.open(call, target, begun.length());
        return upload;
    }

    private void place(TargetSelection pick) {
        call = call.withAffinity(pick.affinity(), pick.sequence());
        if (pick.sequence()) {
            // Its state is where it began.
            fallback = null;
        }
    }

    private void send(Target chosen, boolean first) {
        if (body.needsMetadata()) {
            Subscription asked =
                    chosen.upstream().modelMetadata(call, chosen.model(), new ModelMetadataReply(chosen, first));
            // The description may have come at once, and the request gone out.
            underWay = underWay == Subscription.NONE ? asked : underWay;
        } else {
            infer(chosen, first);
        }
    }

    private void infer(Target chosen, boolean first) {
        try {
            Upstream upstream = chosen.upstream();
            UpstreamMessage prepared = body.prepare(upstream.peer(), chosen.model());
            form = prepared.form();
            routed.sending();
            Subscription started = infer.stream()
                    ? upstream.inferEvents(call, chosen.model(), prepared.message(), this)
                    : upstream.infer(call, chosen.model(), prepared.message(), this);
            started(started, first);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(failure(e));
        }
    }

    /** The request went out; it may have been answered, or its failure taken over, before that. */
    private void started(Subscription started, boolean first) {
        if (over) {
            giveBack();
        } else if (!first) {
            underWay = started;
            giveBack();
        } else if (!routed.takenOver()) {
            underWay = started;
            routed.sent(call, new ShadowedRequest());
        }
    }

    /** The client has gone. */
    void cancel() {
        if (!over) {
            over = true;
            routed.cancelled();
            giveBack();
            underWay.cancel();
        }
    }

    /** What the model is, where the request cannot be read without. */
    private final class ModelMetadataReply implements Reply {
        private final Target described;
        private final boolean first;

        ModelMetadataReply(Target described, boolean first) {
            this.described = described;
            this.first = first;
        }

        @Override
        public void message(ReplyMessage answer) {
            if (answer instanceof ReplyMessage.Model model) {
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
            InferCall.this.fail(failure);
        }
    }

    /** The client takes answers again. */
    void onReplyReady() {
        JsonResponseWriter writing = text;
        if (over || writing == null) {
            underWay.onReady();
            return;
        }
        try {
            writing.write();
            if (ended) {
                complete();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(failure(e));
        }
    }

    /** The request is not what it should be, or we failed: whatever is under way ends. */
    void stop(Throwable thrown) {
        if (!over) {
            fallback = null;
            underWay.cancel();
            fail(failure(thrown));
        }
    }

    @Override
    public void onReady() {
        client.onReady();
    }

    @Override
    public boolean isReady() {
        return client.isReady();
    }

    @Override
    public boolean takesParts(Wire wire, long length) {
        return form.passesParts(wire) && !routed.compared() && client.takesParts(wire, length);
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!over) {
            client.headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage answer) {
        if (!over && answer instanceof ReplyMessage.StreamError) {
            client.message(answer);
            return;
        }
        if (!over && answer instanceof ReplyMessage.Part part) {
            begun();
            routed.answering();
            part(part);
            return;
        }
        if (over || !(answer instanceof ReplyMessage.Inference inference)) {
            answer.release();
            return;
        }
        routed.answered(inference.message());
        begun();
        try {
            if (infer.stream() || !Transcoder.writesText(inference.message(), form)) {
                InferMessage answered =
                        transcoder.response(call.allocator(), inference.message(), form, call.memory()::source);
                call.memory().source(0);
                client.message(new ReplyMessage.Inference(answered));
            } else {
                answer(transcoder.text(call.allocator(), inference.message(), form, call.memory()::source));
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            underWay.cancel();
            fail(failure(e));
        }
    }

    private void answer(JsonResponseText answer) {
        if (answer.inParts() && client.takesParts(Wire.REST, answer.bytes())) {
            routed.answering();
            text = new JsonResponseWriter(answer, call.memory(), client);
            text.begin();
        } else {
            RestBody whole = answer.whole();
            call.memory().source(0);
            client.message(new ReplyMessage.Inference(new InferMessage.RestMessage(whole)));
        }
    }

    private void part(ReplyMessage.Part part) {
        if (form.wire() != Wire.REST) {
            client.message(part);
            return;
        }
        try {
            if (passed == null) {
                passed = new PassThroughJson(call.allocator(), call.memory(), transcoder, part.jsonLength(), form);
            }
            ReplyMessage.Part looked = passed.add(part);
            if (looked != null) {
                client.message(looked);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            underWay.cancel();
            fail(failure(e));
        }
    }

    /** Whether the answer is whole, as far as it was passed on; where not, the call has failed. */
    private boolean whole() {
        try {
            if (passed != null) {
                passed.end();
            }
            return true;
        } catch (RuntimeException e) {
            fail(failure(e));
            return false;
        }
    }

    /** The answer has begun: the request is not needed any more, nor anybody who would take it over. */
    private void begun() {
        fallback = null;
        giveBack();
    }

    @Override
    public void complete() {
        ended = true;
        if (text != null && !text.written()) {
            return;
        }
        if (!over && whole()) {
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
            underWay = Subscription.NONE;
            send(next, false);
            return;
        }
        over = true;
        boolean sends = underWay instanceof RequestUpload upload && upload.waitsForClient();
        routed.failed(failure, sends, !client.isReady());
        giveBack();
        client.fail(failure);
    }

    /** Whether it failed as fleets fail, and not because of what was asked; and whether there is time left. */
    private boolean takesOver(OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !failure.dropsAnswer() && (!call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0);
            default -> false;
        };
    }

    /** Gives the request back, unless copies of it are still to be made, or parts of it still to come. */
    private void giveBack() {
        if (over && passed != null) {
            passed.release();
        }
        if (over && text != null) {
            text.release();
        }
        boolean passes = underWay instanceof RequestUpload && !over;
        if (!routed.copying() && !passes) {
            body.release();
        }
    }

    /** The request, for its copies; kept as long as the fallback may need it, too. */
    private final class ShadowedRequest implements RequestSource {
        @Override
        public Map<String, Parameter> parameters() {
            return body.parameters();
        }

        @Override
        public InferMessage prepare(ServerFeatures peer, ModelRef model) {
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
            return new OipException(ErrorCode.OVERLOADED, "out of memory for the request", thrown);
        }
        LOG.error("inference on {}", infer.model(), thrown);
        return new OipException(ErrorCode.INTERNAL, "internal error", thrown);
    }
}

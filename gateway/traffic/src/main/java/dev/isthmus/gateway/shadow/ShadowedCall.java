package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Objects;

/** A request that was sent, and its copies. */
final class ShadowedCall extends ForwardingReply implements Subscription {
    private final Shadows shadows;
    private ShadowCopies copies = ShadowCopies.NONE;
    private Subscription inFlight = Subscription.NONE;
    private boolean ended;

    ShadowedCall(Shadows shadows, Reply client) {
        super(client);
        this.shadows = shadows;
    }

    /** @param request taken */
    Subscription send(Upstream inner, Call call, InferenceRequest request) {
        InferSource source = request.source();
        Target primary = new Target(request.server(), request.model(), "");
        source.retain();
        try {
            inFlight = inner.send(call, request, this).cancelIf(ended);
        } catch (RuntimeException | OutOfMemoryError e) {
            source.release();
            throw e;
        }
        if (ended) {
            source.release();
        } else {
            ModelRef requested = Objects.requireNonNull(call.operation().requestedModel());
            copies = shadows.begin(call, requested, primary, source);
        }
        return this;
    }

    /** What is compared is needed as a whole. */
    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return !copies.compares() && super.acceptsParts(wire, length);
    }

    @Override
    public void message(ReplyMessage message) {
        if (message instanceof ReplyMessage.Inference inference) {
            copies.responded(inference.message());
        }
        super.message(message);
    }

    @Override
    public void complete() {
        end();
        super.complete();
    }

    @Override
    public void fail(OipException failure) {
        end();
        super.fail(failure);
    }

    private void end() {
        ended = true;
        copies.ended();
    }

    @Override
    public void cancel() {
        end();
        inFlight.cancel();
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }
}

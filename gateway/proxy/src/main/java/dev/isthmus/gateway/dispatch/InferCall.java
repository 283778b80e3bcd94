package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.cache.CacheableRequest;
import dev.isthmus.gateway.cache.ResponseCache;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One inference: sends its request on the wire of the selected target, and its response on the client's. If the target
 * fails before responding, with a failure of the server, the request is sent to the route's fallback.
 */
final class InferCall implements Reply {
    private final Operation.Infer infer;
    private final Exchange exchange;
    private final RoutedCall routed;
    private final RequestBody body;
    private final OutgoingResponse response;
    private final SentRequest request;

    private Call call;
    private @Nullable Target fallback;
    /** Whether layers have seen the request's outline. */
    private boolean shown;

    private Subscription inFlight = Subscription.NONE;
    private boolean callEnded;

    /** @param body the client's request, released when it is not needed any more */
    InferCall(Exchange exchange, Operation.Infer infer, Transcoder transcoder, RequestBody body) {
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.call = exchange.call().within(routed.route().config().timeout());
        this.infer = infer;
        this.request = new SentRequest(body, infer.model(), transcoder, exchange.context());
        this.response = new OutgoingResponse(exchange, transcoder);
        this.fallback = routed.route().fallback(infer.model());
        this.body = body;
    }

    /** Whether there is a fallback for a target that fails. */
    boolean hasFallback() {
        return fallback != null;
    }

    /** Whether the call has ended. */
    boolean isEnded() {
        return callEnded;
    }

    /** Sends the complete body to the selected target. */
    void send(TargetSelection selection) {
        applyAffinity(selection);
        send(selection.target(), true);
    }

    /**
     * Starts to send the request in parts.
     *
     * @return null if it is to be gathered for the selected target
     */
    @Nullable
    RequestUpload startUpload(TargetSelection selection, StreamedRequest streamed) {
        Target target = selection.target();
        Consumer<RequestOutline> show = show();
        if (show != null) {
            show.accept(streamed.outline());
        }
        StreamedRequest.StreamedMessage started = streamed.start(routed.features(target.upstream()), target.model());
        if (started == null) {
            return null;
        }
        applyAffinity(selection);
        routed.passing();
        response.form(started.form());
        exchange.sending();
        RequestUpload upload = new RequestUpload(
                streamed, new UpstreamRequest.InferenceInParts(target.model(), started.length(), request.id()), this);
        inFlight = upload;
        upload.open(call, target.service());
        return upload;
    }

    private void applyAffinity(TargetSelection selection) {
        call = call.withAffinity(selection.affinity(), selection.sequence());
        if (selection.sequence()) {
            // The sequence's state is on the first server.
            fallback = null;
        }
    }

    private void send(Target target, boolean first) {
        if (body.needsMetadata()) {
            Subscription metadataCall = target.upstream()
                    .send(
                            call,
                            new UpstreamRequest.ModelMetadataRequest(target.model()),
                            new ModelMetadataReply(target, first));
            // The metadata may have been received already, and the request sent.
            inFlight = inFlight == Subscription.NONE ? metadataCall : inFlight;
        } else {
            infer(target, first);
        }
    }

    private void infer(Target target, boolean first) {
        try {
            if (!request.isDecoded() && exchange.transforms()) {
                transform(target, first);
                return;
            }
            ResponseCache cache = routed.cache(call, infer);
            if (cache != null) {
                response.form(request.decode(routed.features(target.upstream()), target.model(), show()));
                inferStarted(cache.send(lookedUp(target), target.service(), this), first);
            } else {
                inferStarted(target.service().send(call, encoded(target, show()), this), first);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** The request for the target's server, which is about to be sent. */
    private UpstreamRequest encoded(Target target, @Nullable Consumer<RequestOutline> show) {
        UpstreamMessage prepared = request.prepare(routed.features(target.upstream()), target.model(), show);
        response.form(prepared.form());
        exchange.sending();
        return new UpstreamRequest.InferenceRequest(target.model(), prepared.message(), request.id(), infer.stream());
    }

    /** The decoded request as one that may get the response to an equal one. */
    private CacheableRequest lookedUp(Target target) {
        return new LookedUpRequest(call, exchange, request.decoded(target.model()), () -> encoded(target, null));
    }

    /** Passes the request to the layers that change it, then sends it. */
    private void transform(Target target, boolean first) {
        DecodedBody original = request.original(routed.features(target.upstream()), target.model());
        exchange.transform(original.request(), call.deadlineNanos(), changed -> {
            request.changed(original.with(changed));
            infer(target, first);
        });
    }

    /** Shows the request's outline to the layers; null if they have seen it, or none wants to. */
    private @Nullable Consumer<RequestOutline> show() {
        if (shown || !exchange.showsOutline()) {
            return null;
        }
        shown = true;
        return exchange::parsed;
    }

    /** The request was sent; before this it may have completed, or failed over to the fallback. */
    private void inferStarted(Subscription started, boolean first) {
        if (callEnded || !first) {
            inFlight = started.cancelIf(callEnded);
            releaseIfUnused();
        } else if (!routed.failedOver()) {
            inFlight = started;
            if (routed.shadowed()) {
                routed.sent(call, new ShadowedRequest());
            } else if (fallback == null) {
                request.release();
            }
        }
    }

    /** The client disconnected. */
    void cancel() {
        if (!callEnded) {
            callEnded = true;
            releaseIfUnused();
            inFlight.cancel();
        }
    }

    /** Receives the model's metadata, for requests that cannot be read without it. */
    private final class ModelMetadataReply implements Reply {
        private final Target described;
        private final boolean first;

        ModelMetadataReply(Target described, boolean first) {
            this.described = described;
            this.first = first;
        }

        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.Model model) {
                body.describe(model.metadata());
            }
        }

        @Override
        public void complete() {
            if (!callEnded) {
                infer(described, first);
            }
        }

        @Override
        public void fail(OipException failure) {
            InferCall.this.fail(failure);
        }
    }

    /** The client is ready for more of the response. */
    void onReplyReady() {
        if (callEnded || !response.isWriting()) {
            inFlight.onReady();
            return;
        }
        try {
            response.write();
            completeIfSent();
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** The request is invalid, or the gateway failed: cancels what is in flight. */
    void abort(Throwable thrown) {
        if (!callEnded) {
            fallback = null;
            inFlight.cancel();
            fail(CallLog.failureOf(thrown, call.context()));
        }
    }

    @Override
    public void onReady() {
        exchange.onReady();
    }

    @Override
    public boolean isReady() {
        return exchange.isReady();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return response.acceptsParts(wire, length);
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!callEnded) {
            exchange.headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        if (!callEnded && message instanceof ReplyMessage.StreamError) {
            exchange.message(message);
            return;
        }
        if (callEnded || !(message instanceof ReplyMessage.Part || message instanceof ReplyMessage.Inference)) {
            message.release();
            return;
        }
        responseStarted();
        try {
            if (message instanceof ReplyMessage.Part part) {
                response.part(part);
            } else if (message instanceof ReplyMessage.Inference inference) {
                routed.responded(inference.message());
                response.message(inference.message(), infer.stream());
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            inFlight.cancel();
            fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** The response has started: neither the request nor the fallback is needed any more. */
    private void responseStarted() {
        fallback = null;
        releaseIfUnused();
    }

    @Override
    public void complete() {
        response.complete();
        completeIfSent();
    }

    private void completeIfSent() {
        if (callEnded || !response.isComplete()) {
            return;
        }
        try {
            response.end();
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, call.context()));
            return;
        }
        // The client may have cancelled the call as it received the last part.
        if (!callEnded) {
            callEnded = true;
            releaseIfUnused();
            exchange.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (callEnded) {
            return;
        }
        Target nextTarget = fallback;
        if (nextTarget != null && RoutedCall.fallsBack(call, failure)) {
            routed.failedOver(failure, nextTarget);
            fallback = null;
            inFlight = Subscription.NONE;
            send(nextTarget, false);
            return;
        }
        callEnded = true;
        boolean sends = inFlight instanceof RequestUpload upload && upload.waitsForClient();
        releaseIfUnused();
        if (sends && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            // The elapsed time is the client's.
            exchange.excuseTarget();
        }
        exchange.fail(failure);
    }

    /** Releases the request, unless copies of it are still to be made or parts of it still to be received. */
    private void releaseIfUnused() {
        if (callEnded) {
            response.release();
        }
        boolean passes = inFlight instanceof RequestUpload && !callEnded;
        if (!routed.copying() && !passes) {
            request.release();
        }
    }

    /** The request as the source of its copies; kept as long as the fallback may need it. */
    private final class ShadowedRequest implements RequestSource {
        @Override
        public Map<String, Parameter> parameters() {
            return body.parameters();
        }

        @Override
        public InferMessage prepare(ServerFeatures peer, ModelRef model) {
            return request.prepare(peer, model, null).message();
        }

        @Override
        public void release() {
            routed.copied();
            if (callEnded || fallback == null) {
                request.release();
            }
        }
    }
}

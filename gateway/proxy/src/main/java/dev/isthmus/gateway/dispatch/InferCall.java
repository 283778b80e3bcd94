package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.upstream.DescribingReply;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One inference: sends its request on the wire of the selected target, and its response on the client's. */
final class InferCall implements Reply {
    private final Operation.Infer infer;
    private final Exchange exchange;
    private final RoutedCall routed;
    private final OutgoingResponse response;
    private final SentRequest request;
    private @Nullable Target target;
    /** Whether the request is its target's, which releases it. */
    private boolean sent;

    private Subscription inFlight = Subscription.NONE;
    private boolean callEnded;

    /** @param body the client's request, released when it is not needed any more */
    InferCall(Exchange exchange, Operation.Infer infer, Transcoder transcoder, RequestBody body) {
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.infer = infer;
        this.response = new OutgoingResponse(exchange, transcoder);
        this.request = new SentRequest(exchange, infer.model(), transcoder, body, response);
        // The time that the route gives it begins with its request.
        routed.call();
    }

    /** Whether the call has ended. */
    boolean isEnded() {
        return callEnded;
    }

    /** Sends the complete body to the selected target. */
    void send(TargetSelection selection) {
        Target chosen = selection.target();
        target = chosen;
        if (!request.needsMetadata()) {
            infer();
            return;
        }
        Reply described = new DescribingReply(request, this::infer, this::fail) {
            @Override
            public void redirected(OipException failure, ModelRef model) {
                target = routed.route().fallback(infer.model());
                exchange.redirected(failure, model);
            }
        };
        Subscription metadataCall = chosen.service()
                .send(routed.call(), new UpstreamRequest.ModelMetadataRequest(chosen.model()), described);
        // The metadata may have been received already, and the request sent.
        inFlight = inFlight == Subscription.NONE ? metadataCall : inFlight;
    }

    /**
     * Starts to send the request in parts.
     *
     * @return null if it is to be gathered for the selected target
     */
    @Nullable
    RequestUpload startUpload(TargetSelection selection, StreamedRequest streamed) {
        Target chosen = selection.target();
        if (exchange.showsOutline()) {
            exchange.parsed(streamed.outline());
            request.shown();
        }
        StreamedRequest.StreamedMessage started = streamed.start(routed.features(chosen.upstream()), chosen.model());
        if (started == null) {
            return null;
        }
        response.form(started.form());
        exchange.sending();
        RequestUpload upload = new RequestUpload(
                streamed, new UpstreamRequest.InferenceInParts(chosen.model(), started.length(), request.id()), this);
        inFlight = upload;
        upload.open(routed.call(), chosen.service());
        return upload;
    }

    private void infer() {
        Target chosen = target;
        if (callEnded || chosen == null) {
            return;
        }
        try {
            if (request.transforms()) {
                request.transform(chosen, this::infer);
                return;
            }
            sent = true;
            UpstreamRequest sending =
                    new UpstreamRequest.InferenceRequest(chosen.upstream(), chosen.model(), request, infer.stream());
            inFlight = chosen.service().send(routed.call(), sending, this).cancelIf(callEnded);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, exchange.context()));
        }
    }

    /** The client disconnected. */
    void cancel() {
        if (!callEnded) {
            end();
            inFlight.cancel();
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
            fail(CallLog.failureOf(e, exchange.context()));
        }
    }

    /** The request is invalid, or the gateway failed: cancels what is in flight. */
    void abort(Throwable thrown) {
        if (!callEnded) {
            inFlight.cancel();
            fail(CallLog.failureOf(thrown, exchange.context()));
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
        try {
            if (message instanceof ReplyMessage.Part part) {
                response.part(part);
            } else if (message instanceof ReplyMessage.Inference inference) {
                response.message(inference.message(), infer.stream());
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            inFlight.cancel();
            fail(CallLog.failureOf(e, exchange.context()));
        }
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
            fail(CallLog.failureOf(e, exchange.context()));
            return;
        }
        // The client may have cancelled the call as it received the last part.
        if (!callEnded) {
            end();
            exchange.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (callEnded) {
            return;
        }
        boolean sends = inFlight instanceof RequestUpload upload && upload.waitsForClient();
        end();
        if (sends && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            // The elapsed time is the client's.
            exchange.excuseTarget();
        }
        exchange.fail(failure);
    }

    @Override
    public void redirected(OipException failure, ModelRef model) {
        exchange.redirected(failure, model);
    }

    @Override
    public void notSent() {
        exchange.notSent();
    }

    private void end() {
        callEnded = true;
        response.release();
        if (!sent) {
            request.release();
        }
    }
}

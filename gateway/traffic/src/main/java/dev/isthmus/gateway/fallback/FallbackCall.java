package dev.isthmus.gateway.fallback;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.DescribingReply;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.OipException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** A request that the fallback gets if its target fails. Used on the event loop of the call. */
final class FallbackCall extends ForwardingReply implements Subscription {
    private final Call call;
    private final Target fallback;
    /** The request to the fallback; null once it was sent, or is not needed any more. */
    private @Nullable UpstreamRequest second;

    private Subscription inFlight = Subscription.NONE;
    private @Nullable Future<?> share;
    private boolean moved;
    private boolean ended;

    /** @param second taken */
    FallbackCall(Call call, Target fallback, UpstreamRequest second, Reply client) {
        super(client);
        this.call = call;
        this.fallback = fallback;
        this.second = second;
    }

    /** @param request taken */
    Subscription start(Upstream target, UpstreamRequest request) {
        share = RouteFallback.share(call, target.name(), this::late);
        try {
            Subscription started = target.send(call, request, this);
            if (!moved) {
                inFlight = started.cancelIf(ended);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, call.context()));
        }
        return this;
    }

    private void late(OipException failure) {
        if (second != null) {
            inFlight.cancel();
            fail(failure);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        commit();
        super.message(message);
    }

    @Override
    public void complete() {
        end();
        super.complete();
    }

    @Override
    public void fail(OipException failure) {
        UpstreamRequest next = second;
        if (ended || next == null || !RouteFallback.takesOver(call, failure)) {
            end();
            super.fail(failure);
            return;
        }
        second = null;
        moved = true;
        stopShare();
        inFlight = Subscription.NONE;
        redirected(failure, fallback.model());
        try {
            Subscription started = moved(next);
            // The metadata may have been received already, and the request sent.
            inFlight = inFlight == Subscription.NONE ? started.cancelIf(ended) : inFlight;
        } catch (RuntimeException | OutOfMemoryError e) {
            end();
            super.fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** @param next taken */
    private Subscription moved(UpstreamRequest next) {
        if (!(next instanceof InferenceRequest inference) || !inference.source().needsMetadata()) {
            return RouteFallback.sendTo(fallback, call, next, this);
        }
        second = next;
        Runnable described = () -> {
            if (second == next) {
                second = null;
                inFlight = RouteFallback.sendTo(fallback, call, next, this).cancelIf(ended);
            }
        };
        return RouteFallback.sendTo(
                fallback,
                call,
                new UpstreamRequest.ModelMetadataRequest(fallback.model()),
                new DescribingReply(inference.source(), described, failure -> {
                    end();
                    super.fail(failure);
                }));
    }

    /** The target has responded: the request stays with it. */
    private void commit() {
        stopShare();
        if (second != null) {
            second.release();
            second = null;
        }
    }

    private void stopShare() {
        if (share != null) {
            share.cancel(false);
            share = null;
        }
    }

    private void end() {
        ended = true;
        commit();
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

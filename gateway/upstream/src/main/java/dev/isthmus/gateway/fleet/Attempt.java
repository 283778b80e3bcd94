package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.adaptive.AdaptiveLimit;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.Cluster.AttemptResources;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a call, at one server. Response headers are held back until it is known whether this attempt's
 * response is used.
 */
final class Attempt extends TrackedReply {
    private final UpstreamCall upstreamCall;
    private final boolean fullTimeout;
    private final boolean inOnePiece;
    private final @Nullable AdaptiveLimit limit;
    private Subscription subscription = Subscription.NONE;
    private @Nullable Future<?> timer;

    /**
     * An attempt that is about to start.
     *
     * @param fullTimeout as in {@link CallOutcome#of}
     * @param inOnePiece whether the response must be complete before it is delivered, because this attempt's timeout is
     *     shorter than the time the client may take to read the response
     * @param limited whether the attempt counts against the adaptive limit of the server
     */
    Attempt(
            UpstreamCall upstreamCall,
            AttemptResources shared,
            Replica replica,
            TraceSpan span,
            Reply client,
            long now,
            boolean fullTimeout,
            boolean inOnePiece,
            boolean limited) {
        super(shared, replica, span, client, now, upstreamCall.bound());
        holdHeaders();
        this.upstreamCall = upstreamCall;
        this.fullTimeout = fullTimeout;
        this.inOnePiece = inOnePiece;
        this.limit = limited ? replica.adaptiveLimit() : null;
        if (limit != null) {
            limit.started();
        }
    }

    /** Sends the request. The attempt may end before this returns. */
    void start(Upstream server, UpstreamRequest request, Call call) {
        try {
            subscription = server.send(call, request, this).cancelIf(ended());
        } catch (RuntimeException | OutOfMemoryError e) {
            if (ended()) {
                throw e;
            }
            // A fault of the gateway: no evidence about the server.
            fail(CallLog.failureOf(e, call.context()), CallOutcome.CANCELLED);
        }
    }

    /** Fails the attempt unless a response arrives within this time. */
    void startTimer(long nanos, OipException late, ScheduledExecutorService loop) {
        if (!ended() && !hasResponse()) {
            timer = loop.schedule(() -> abandon(late), nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void abandon(OipException failure) {
        if (!ended()) {
            subscription.cancel();
            fail(failure);
        }
    }

    /** Cancels the attempt: the call no longer needs it. */
    void cancel() {
        if (!ended()) {
            end(CallOutcome.CANCELLED, null);
            subscription.cancel();
        }
    }

    void onReplyReady() {
        subscription.onReady();
    }

    @Override
    boolean clientSends() {
        return upstreamCall.request().clientSends();
    }

    @Override
    void end(CallOutcome outcome, @Nullable OipException failure) {
        stopTimer();
        super.end(outcome, failure);
        if (limit != null) {
            limit.ended(startNanos(), latencyNanos(), outcome == CallOutcome.ANSWERED && failure == null);
        }
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    @Override
    public void headers(Map<String, String> received) {
        if (!ended()) {
            super.headers(received);
        }
    }

    @Override
    public void message(ReplyMessage response) {
        if (ended()) {
            response.release();
            return;
        }
        if (!hasResponse()) {
            if (response instanceof ReplyMessage.StreamError error
                    && upstreamCall.reason(replica(), error.failure()) != null) {
                abandon(error.failure());
                return;
            }
            stopTimer();
            responded();
            upstreamCall.responded(this);
            passHeaders();
        }
        super.message(response);
    }

    @Override
    public void complete() {
        if (!ended()) {
            end(CallOutcome.ANSWERED, null);
            upstreamCall.completed(this);
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!ended()) {
            fail(failure, CallOutcome.of(failure, fullTimeout && !waitsForClient()));
        }
    }

    private void fail(OipException failure, CallOutcome outcome) {
        end(outcome, failure);
        if (hasResponse()) {
            upstreamCall.failed(failure, outcome);
        } else {
            upstreamCall.failedBeforeResponse(this, failure, outcome);
        }
    }

    /**
     * Whether the elapsed time is due to a slow client: one that is slow to read the response or to send the request.
     */
    private boolean waitsForClient() {
        return hasResponse() ? !isReady() : upstreamCall.request().waitsForClient();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return !inOnePiece && super.acceptsParts(wire, length);
    }
}

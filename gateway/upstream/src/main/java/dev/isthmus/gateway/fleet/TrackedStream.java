package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import org.jspecify.annotations.Nullable;

/** A bidirectional stream to one server; it is never moved to another. */
final class TrackedStream implements UpstreamStream {
    private final TrackedRequest tracked;
    private final CircuitBreakers.CallPermit permit;
    private UpstreamStream stream = UpstreamStream.ENDED;
    private boolean ended;

    private TrackedStream(TrackedRequest tracked, CircuitBreakers.CallPermit permit) {
        this.tracked = tracked;
        this.permit = permit;
    }

    /** Opens a stream to a server; the reply may end before this returns. */
    static UpstreamStream open(
            Replica replica,
            TrackedRequest tracked,
            CircuitBreakers.CallPermit permit,
            Call call,
            ModelRef model,
            Reply client) {
        TrackedStream stream = new TrackedStream(tracked, permit);
        UpstreamStream opened = replica.server().inferStream(call, model, stream.new TrackedReply(client));
        if (!stream.ended) {
            stream.stream = opened;
        }
        return stream;
    }

    private void finish(CallOutcome outcome, @Nullable OipException failure) {
        ended = true;
        tracked.end(outcome, failure, false);
        permit.release(outcome);
    }

    @Override
    public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
        stream.send(model, id, emptyFinal, message);
    }

    @Override
    public void end() {
        stream.end();
    }

    @Override
    public boolean isReady() {
        return stream.isReady();
    }

    @Override
    public long keptBytes() {
        return stream.keptBytes();
    }

    @Override
    public void onReady() {
        stream.onReady();
    }

    @Override
    public void cancel() {
        if (!ended) {
            finish(CallOutcome.CANCELLED, null);
            stream.cancel();
        }
    }

    /** Receives the server's responses. */
    private final class TrackedReply extends ForwardingReply {
        TrackedReply(Reply client) {
            super(client);
        }

        @Override
        public void message(ReplyMessage response) {
            if (ended) {
                response.release();
                return;
            }
            tracked.responded();
            permit.responded();
            super.message(response);
        }

        @Override
        public void complete() {
            if (!ended) {
                finish(CallOutcome.ANSWERED, null);
                super.complete();
            }
        }

        @Override
        public void fail(OipException failure) {
            if (!ended) {
                // A stream's deadline is set by its client.
                finish(CallOutcome.of(failure, false), failure);
                super.fail(failure);
            }
        }
    }
}

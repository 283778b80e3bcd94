package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;

/** A stream of requests to one server, which is never moved to another. */
final class TrackedStream implements UpstreamStream {
    private final TrackedRequest tracked;
    private final CircuitBreakers.CallPermit pass;
    private UpstreamStream stream = UpstreamStream.ENDED;
    private boolean over;

    private TrackedStream(TrackedRequest tracked, CircuitBreakers.CallPermit pass) {
        this.tracked = tracked;
        this.pass = pass;
    }

    /** Opens a stream on a server; the reply may end before this returns. */
    static UpstreamStream open(
            Replica replica,
            TrackedRequest tracked,
            CircuitBreakers.CallPermit pass,
            Call call,
            ModelRef model,
            Reply client) {
        TrackedStream stream = new TrackedStream(tracked, pass);
        UpstreamStream opened = replica.server().inferStream(call, model, stream.new TrackedReply(client));
        if (!stream.over) {
            stream.stream = opened;
        }
        return stream;
    }

    private void finish(CallOutcome outcome) {
        over = true;
        tracked.end(outcome);
        pass.ended(outcome);
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
        if (!over) {
            finish(CallOutcome.CANCELLED);
            stream.cancel();
        }
    }

    /** What the server answers. */
    private final class TrackedReply extends ForwardingReply {
        TrackedReply(Reply client) {
            super(client);
        }

        @Override
        public void message(ReplyMessage answer) {
            if (over) {
                answer.release();
                return;
            }
            tracked.answer();
            pass.answered();
            super.message(answer);
        }

        @Override
        public void complete() {
            if (!over) {
                finish(CallOutcome.ANSWERED);
                super.complete();
            }
        }

        @Override
        public void fail(OipException failure) {
            if (!over) {
                // The deadline of a stream is its client's.
                finish(CallOutcome.of(failure, false));
                super.fail(failure);
            }
        }
    }
}

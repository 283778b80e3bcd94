package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.InferStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import java.util.Map;

/** A stream of requests to one server, which is never moved to another. */
final class TrackedStream implements InferStream {
    private final Tracked tracked;
    private final Guard.Pass pass;
    private InferStream stream = InferStream.ENDED;
    private boolean over;

    private TrackedStream(Tracked tracked, Guard.Pass pass) {
        this.tracked = tracked;
        this.pass = pass;
    }

    /** Opens a stream on a server; the reply may end before this returns. */
    static InferStream open(
            Replica replica, Tracked tracked, Guard.Pass pass, Call call, ModelRef model, Reply client) {
        TrackedStream stream = new TrackedStream(tracked, pass);
        InferStream opened = replica.server().inferStream(call, model, stream.new Answers(client));
        if (!stream.over) {
            stream.stream = opened;
        }
        return stream;
    }

    private void finish(Outcome outcome) {
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
    public boolean writable() {
        return stream.writable();
    }

    @Override
    public long keptBytes() {
        return stream.keptBytes();
    }

    @Override
    public void resume() {
        stream.resume();
    }

    @Override
    public void cancel() {
        if (!over) {
            finish(Outcome.CANCELLED);
            stream.cancel();
        }
    }

    /** What the server answers. */
    private final class Answers implements Reply {
        private final Reply client;

        Answers(Reply client) {
            this.client = client;
        }

        @Override
        public void headers(Map<String, String> headers) {
            client.headers(headers);
        }

        @Override
        public void message(Answer answer) {
            if (over) {
                answer.release();
                return;
            }
            tracked.answer();
            pass.answered();
            client.message(answer);
        }

        @Override
        public void complete() {
            if (!over) {
                finish(Outcome.ANSWERED);
                client.complete();
            }
        }

        @Override
        public void fail(OipException failure) {
            if (!over) {
                // The deadline of a stream is its client's.
                finish(Outcome.of(failure, false));
                client.fail(failure);
            }
        }

        @Override
        public boolean writable() {
            return client.writable();
        }

        @Override
        public void readMore() {
            client.readMore();
        }
    }
}

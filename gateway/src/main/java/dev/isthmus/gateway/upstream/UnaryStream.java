package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;

/**
 * A stream over an upstream that has none: one request after the other, in their order, so that sequences stay what they
 * are. A request that fails is reported in the stream, which goes on.
 */
public final class UnaryStream implements InferStream {
    private static final int MAX_WAITING = 16;

    private record Waiting(ModelRef model, String id, InferMessage message) {}

    private final Upstream upstream;
    private final Call call;
    private final Reply reply;
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private Cancellation underWay = Cancellation.NONE;
    private boolean busy;
    private boolean ended;
    private boolean over;

    /** A stream of calls to this upstream. */
    public UnaryStream(Upstream upstream, Call call, Reply reply) {
        this.upstream = upstream;
        this.call = call;
        this.reply = reply;
    }

    @Override
    public void send(ModelRef model, String id, InferMessage message) {
        if (over || ended) {
            message.release();
            return;
        }
        waiting.add(new Waiting(model, id, message));
        next();
    }

    @Override
    public void end() {
        ended = true;
        next();
    }

    @Override
    public boolean writable() {
        return waiting.size() < MAX_WAITING;
    }

    @Override
    public void resume() {
        underWay.resume();
        next();
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            waiting.forEach(left -> left.message().release());
            waiting.clear();
            underWay.cancel();
        }
    }

    private void next() {
        // A call may be answered before it returns: not one within the other, but one after the other.
        while (!busy && !over) {
            if (!waiting.isEmpty() && !reply.writable()) {
                // Not before the client takes the answers that it has; then comes resume().
                return;
            }
            Waiting first = waiting.poll();
            if (first == null) {
                if (ended) {
                    over = true;
                    reply.complete();
                }
                return;
            }
            busy = true;
            One one = new One(first.id());
            Cancellation started = upstream.inferEvents(call, first.model(), first.message(), one);
            if (!one.done) {
                underWay = started;
                return;
            }
        }
    }

    /** The outcome of one request. */
    private final class One implements Reply {
        private final String id;
        private boolean done;

        One(String id) {
            this.id = id;
        }

        @Override
        public void headers(Map<String, String> headers) {
            reply.headers(headers);
        }

        @Override
        public void message(Answer answer) {
            if (over) {
                answer.release();
            } else if (answer instanceof Answer.StreamError error && error.id().isEmpty()) {
                reply.message(new Answer.StreamError(error.failure(), id));
            } else {
                reply.message(answer);
            }
        }

        @Override
        public boolean writable() {
            return reply.writable();
        }

        @Override
        public void complete() {
            finished();
        }

        @Override
        public void fail(OipException failure) {
            if (!over) {
                reply.message(new Answer.StreamError(failure, id));
            }
            finished();
        }

        private void finished() {
            boolean late = underWay != Cancellation.NONE;
            done = true;
            busy = false;
            underWay = Cancellation.NONE;
            if (over) {
                return;
            }
            reply.readMore();
            if (late) {
                next();
            }
        }
    }
}

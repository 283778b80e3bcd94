package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * A stream over an upstream that has none: one request after the other, in their order, so that sequences stay what they
 * are. A request that fails is reported in the stream, which goes on.
 */
public final class UnaryStream implements UpstreamStream {
    private static final int MAX_WAITING = 16;
    private static final Map<String, Parameter> FINAL = Map.of("triton_final_response", new Parameter.Bool(true));

    private record PendingMessage(ModelRef model, String id, boolean emptyFinal, InferMessage message, long bytes) {}

    private final Upstream upstream;
    private final Call call;
    private final Reply reply;
    private final Deque<PendingMessage> waiting = new ArrayDeque<>();
    private Subscription underWay = Subscription.NONE;
    private long waitingBytes;
    private long underWayBytes;
    private boolean busy;
    private boolean pumping;
    private boolean ended;
    private boolean over;

    /** A stream of calls to this upstream. */
    public UnaryStream(Upstream upstream, Call call, Reply reply) {
        this.upstream = upstream;
        this.call = call;
        this.reply = reply;
    }

    @Override
    public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
        if (over || ended) {
            message.release();
            return;
        }
        long bytes = message.bytes();
        waiting.add(new PendingMessage(model, id, emptyFinal, message, bytes));
        waitingBytes += bytes;
        next();
    }

    @Override
    public void end() {
        ended = true;
        next();
    }

    @Override
    public boolean isReady() {
        return waiting.size() < MAX_WAITING;
    }

    @Override
    public long keptBytes() {
        return waitingBytes + underWayBytes;
    }

    @Override
    public void onReady() {
        underWay.onReady();
        next();
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            waiting.forEach(left -> left.message().release());
            waiting.clear();
            waitingBytes = 0;
            underWay.cancel();
        }
    }

    private void next() {
        if (pumping) {
            return;
        }
        // A call may be answered before it returns: not one within the other, but one after the other.
        pumping = true;
        // Not before the client takes the answers that it has; then comes resume().
        while (!busy && !over && !waiting.isEmpty() && reply.isReady()) {
            PendingMessage first = waiting.remove();
            waitingBytes -= first.bytes();
            underWayBytes = first.bytes();
            busy = true;
            UnaryReply one = new UnaryReply(first);
            Subscription started = upstream.inferEvents(call, first.model(), first.message(), one);
            underWay = one.done ? Subscription.NONE : started;
        }
        pumping = false;
        if (ended && !busy && !over && waiting.isEmpty()) {
            over = true;
            reply.complete();
        }
    }

    /** The outcome of one request. */
    private final class UnaryReply implements Reply {
        private final PendingMessage request;
        private boolean done;

        UnaryReply(PendingMessage request) {
            this.request = request;
        }

        @Override
        public void headers(Map<String, String> headers) {
            reply.headers(headers);
        }

        @Override
        public void message(ReplyMessage answer) {
            if (over) {
                answer.release();
            } else if (answer instanceof ReplyMessage.Inference inference
                    && !upstream.peer().dialect().takesId(request.id())) {
                reply.message(new ReplyMessage.Inference(inference.message(), request.id()));
            } else if (answer instanceof ReplyMessage.StreamError error
                    && error.id().isEmpty()) {
                reply.message(new ReplyMessage.StreamError(error.failure(), request.id()));
            } else {
                reply.message(answer);
            }
        }

        @Override
        public boolean isReady() {
            return reply.isReady();
        }

        @Override
        public void complete() {
            if (!over && request.emptyFinal()) {
                InferResponse last = new InferResponse(request.model(), request.id(), FINAL, List.of());
                reply.message(new ReplyMessage.Inference(new InferMessage.Response(last)));
            }
            finished();
        }

        @Override
        public void fail(OipException failure) {
            if (!over && late()) {
                // The client's time is up for all that waits, too.
                UnaryStream.this.cancel();
                reply.fail(failure);
            } else if (!over) {
                reply.message(new ReplyMessage.StreamError(failure, request.id()));
            }
            finished();
        }

        private boolean late() {
            return call.hasDeadline() && System.nanoTime() - call.deadlineNanos() >= 0;
        }

        private void finished() {
            done = true;
            busy = false;
            underWayBytes = 0;
            underWay = Subscription.NONE;
            if (!over) {
                reply.onReady();
                next();
            }
        }
    }
}

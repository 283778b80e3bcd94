package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.StreamParameters;
import dev.isthmus.transcoder.message.Wire;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * A stream over an upstream that supports unary requests only: sends one request at a time, in order, so that sequences
 * work. A failed request is reported within the stream, which continues.
 */
public final class UnaryStream implements UpstreamStream {
    private static final int MAX_WAITING = 16;
    private static final Map<String, Parameter> FINAL = Map.of(StreamParameters.FINAL, new Parameter.Bool(true));

    private record PendingMessage(
            Call call,
            InferenceRequest message,
            boolean emptyFinal,
            Map<String, Map<String, Parameter>> sharedOutputs,
            long bytes) {}

    private final Upstream upstream;
    private final Call call;
    private final Reply reply;
    private final Deque<PendingMessage> waiting = new ArrayDeque<>();
    private Subscription subscription = Subscription.NONE;
    private long waitingBytes;
    private long inFlightBytes;
    private boolean inFlight;
    private boolean draining;
    private boolean ended;
    private boolean closed;

    public UnaryStream(Upstream upstream, Call call, Reply reply) {
        this.upstream = upstream;
        this.call = call;
        this.reply = reply;
    }

    @Override
    public void send(Call request, InferenceRequest message, boolean emptyFinal) {
        if (closed || ended) {
            message.release();
            return;
        }
        Map<String, Map<String, Parameter>> sharedOutputs = message.sharedOutputs();
        long bytes = message.bytes();
        waiting.add(new PendingMessage(request, message, emptyFinal, sharedOutputs, bytes));
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
        return waitingBytes + inFlightBytes;
    }

    @Override
    public void onReady() {
        subscription.onReady();
        next();
    }

    @Override
    public void cancel() {
        if (!closed) {
            closed = true;
            waiting.forEach(left -> left.message().release());
            waiting.clear();
            waitingBytes = 0;
            subscription.cancel();
        }
    }

    private void next() {
        if (draining) {
            return;
        }
        // A call may complete before send() returns: drain in a loop, not recursively.
        draining = true;
        // Waits until the client has read earlier responses; then onReady() continues.
        while (!inFlight && !closed && !waiting.isEmpty() && reply.isReady()) {
            PendingMessage first = waiting.remove();
            waitingBytes -= first.bytes();
            inFlightBytes = first.bytes();
            inFlight = true;
            UnaryReply responses = new UnaryReply(first);
            try {
                subscription =
                        upstream.send(first.call(), first.message(), responses).cancelIf(closed);
            } catch (RuntimeException | OutOfMemoryError fault) {
                responses.fail(CallLog.failureOf(fault, first.call().context()));
            }
        }
        draining = false;
        if (ended && !inFlight && !closed && waiting.isEmpty()) {
            closed = true;
            reply.complete();
        }
    }

    private final class UnaryReply implements Reply {
        private final PendingMessage request;
        private final String id;

        UnaryReply(PendingMessage request) {
            this.request = request;
            this.id = request.message().id();
        }

        @Override
        public void headers(Map<String, String> headers) {
            reply.headers(headers);
        }

        @Override
        public void message(ReplyMessage response) {
            if (closed) {
                response.release();
            } else if (response instanceof ReplyMessage.Inference inference) {
                reply.message(inStream(inference));
            } else if (response instanceof ReplyMessage.StreamError error
                    && error.id().isEmpty()) {
                reply.message(new ReplyMessage.StreamError(error.failure(), id));
            } else {
                reply.message(response);
            }
        }

        private ReplyMessage.Inference inStream(ReplyMessage.Inference response) {
            Dialect dialect = upstream.peer().dialect();
            boolean marked = request.emptyFinal() || dialect == Dialect.TRITON;
            // One that is written anew has the request's id, whatever the server says.
            boolean own = upstream.peer().wire() == Wire.PROTOBUF && dialect.acceptsId(id);
            return new ReplyMessage.Inference(
                    response.message(),
                    own ? response.id() : id,
                    marked && upstream.peer().singleResponses(),
                    request.sharedOutputs());
        }

        @Override
        public boolean isReady() {
            return reply.isReady();
        }

        @Override
        public void complete() {
            if (!closed && request.emptyFinal() && !upstream.peer().singleResponses()) {
                InferResponse last = new InferResponse(request.message().model(), id, FINAL, List.of());
                reply.message(new ReplyMessage.Inference(new InferMessage.Response(last)));
            }
            finished();
        }

        @Override
        public void fail(OipException failure) {
            if (!closed && late()) {
                // The deadline holds for all waiting requests, too.
                UnaryStream.this.cancel();
                reply.fail(failure);
            } else if (!closed) {
                reply.message(new ReplyMessage.StreamError(failure, id));
            }
            finished();
        }

        private boolean late() {
            return call.hasDeadline() && System.nanoTime() - call.deadlineNanos() >= 0;
        }

        private void finished() {
            inFlight = false;
            inFlightBytes = 0;
            subscription = Subscription.NONE;
            if (!closed) {
                reply.onReady();
                next();
            }
        }
    }
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.Cluster.AttemptResources;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** A bidirectional stream to one server; it is never moved to another. */
final class TrackedStream implements UpstreamStream {
    private final AttemptResources shared;
    private final TraceSpan span;
    private final StreamReply reply;
    private final CircuitBreakers.CallPermit permit;
    private UpstreamStream stream = UpstreamStream.ENDED;

    TrackedStream(
            AttemptResources shared,
            Replica replica,
            TraceSpan span,
            CircuitBreakers.CallPermit permit,
            ModelRef model,
            boolean bound,
            Reply client) {
        this.shared = shared;
        this.span = span;
        this.permit = permit;
        this.reply = new StreamReply(shared, replica, span, model, bound, client);
    }

    /** Opens the stream; the reply may end before this returns. */
    void open(Upstream server, Call call, ModelRef model) {
        try {
            UpstreamStream opened = server.inferStream(call, model, reply);
            if (!reply.ended()) {
                stream = opened;
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            if (reply.ended()) {
                throw e;
            }
            // A fault of the gateway: no evidence about the server.
            reply.fail(CallLog.failureOf(e, call.context()), CallOutcome.CANCELLED);
        }
    }

    @Override
    public void send(Call request, InferenceRequest message, boolean emptyFinal) {
        request.context().streamedTo(reply.replica().label());
        stream.send(request, message, emptyFinal);
    }

    /** Counts it, but not for the ejection of the server: errors within a stream have no status. */
    @Override
    public void ended(long nanos, @Nullable OipException failure) {
        CallOutcome outcome = failure == null ? CallOutcome.ANSWERED : CallOutcome.of(failure, false);
        reply.replica().counts().streamed(outcome, nanos);
        shared.metrics().attempted(outcome, nanos, span);
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
        if (!reply.ended()) {
            reply.end(CallOutcome.CANCELLED, null);
            stream.cancel();
        }
    }

    /** Receives the server's responses. */
    private final class StreamReply extends TrackedReply {
        private final ReplicaSet replicas;
        private final ModelRef model;

        StreamReply(
                AttemptResources shared, Replica replica, TraceSpan span, ModelRef model, boolean bound, Reply client) {
            super(shared, replica, span, client, shared.nanoTime().getAsLong(), bound);
            this.replicas = shared.replicas();
            this.model = model;
        }

        @Override
        void end(CallOutcome outcome, @Nullable OipException failure) {
            super.end(outcome, failure);
            permit.release(outcome);
        }

        @Override
        public void message(ReplyMessage response) {
            if (ended()) {
                response.release();
                return;
            }
            responded();
            permit.responded();
            if (response instanceof ReplyMessage.StreamError error) {
                replicas.answered(replica(), model, error.failure());
            }
            super.message(response);
        }

        @Override
        public void complete() {
            if (!ended()) {
                end(CallOutcome.ANSWERED, null);
                super.complete();
            }
        }

        @Override
        public void fail(OipException failure) {
            if (!ended()) {
                // A stream's deadline is set by its client.
                fail(failure, CallOutcome.of(failure, false));
            }
        }

        void fail(OipException failure, CallOutcome outcome) {
            end(outcome, failure);
            replicas.answered(replica(), model, failure);
            super.fail(failure);
        }
    }
}

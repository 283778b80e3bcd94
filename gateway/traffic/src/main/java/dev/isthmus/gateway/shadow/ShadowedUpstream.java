package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.ForwardingUpstream;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A target whose requests are copied for shadows, and kept for that, so that none passes in parts. */
final class ShadowedUpstream extends ForwardingUpstream {
    private final Shadows shadows;

    ShadowedUpstream(Shadows shadows, Upstream inner) {
        super(inner);
        this.shadows = shadows;
    }

    @Override
    public long passesFrom() {
        return Long.MAX_VALUE;
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        if (request instanceof InferenceRequest inference) {
            return new ShadowedCall(reply).send(call, inference);
        }
        if (request instanceof UpstreamRequest.GenerateRequest) {
            begin(call, new Target(inner(), request.model(), ""), null);
        }
        return inner().send(call, request, reply);
    }

    private ShadowCopies begin(Call call, Target primary, @Nullable InferSource source) {
        ModelRef requested = Objects.requireNonNull(call.operation().requestedModel());
        return shadows.begin(call, requested, primary, source);
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        return new ShadowedStream(inner().inferStream(call, model, reply));
    }

    /** A request that was sent, and its copies. */
    private final class ShadowedCall extends ForwardingReply implements Subscription {
        private ShadowCopies copies = ShadowCopies.NONE;
        private Subscription inFlight = Subscription.NONE;
        private boolean ended;

        ShadowedCall(Reply client) {
            super(client);
        }

        /** @param request taken */
        Subscription send(Call call, InferenceRequest request) {
            InferSource source = request.source();
            Target primary = new Target(request.server(), request.model(), "");
            source.retain();
            try {
                inFlight = inner().send(call, request, this).cancelIf(ended);
            } catch (RuntimeException | OutOfMemoryError e) {
                source.release();
                throw e;
            }
            if (ended) {
                source.release();
            } else {
                copies = begin(call, primary, source);
            }
            return this;
        }

        /** What is compared is needed as a whole. */
        @Override
        public boolean acceptsParts(Wire wire, long length) {
            return !copies.compares() && super.acceptsParts(wire, length);
        }

        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.Inference inference) {
                copies.responded(inference.message());
            }
            super.message(message);
        }

        @Override
        public void complete() {
            end();
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            end();
            super.fail(failure);
        }

        private void end() {
            ended = true;
            copies.ended();
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

    /** A stream, whose requests are counted and not copied. */
    private final class ShadowedStream implements UpstreamStream {
        private final UpstreamStream stream;

        ShadowedStream(UpstreamStream stream) {
            this.stream = stream;
        }

        @Override
        public void send(Call request, InferenceRequest message, boolean emptyFinal) {
            begin(request, new Target(inner(), message.model(), ""), null);
            stream.send(request, message, emptyFinal);
        }

        @Override
        public void ended(long nanos, @Nullable OipException failure) {
            stream.ended(nanos, failure);
        }

        @Override
        public void end() {
            stream.end();
        }

        @Override
        public long keptBytes() {
            return stream.keptBytes();
        }

        @Override
        public boolean isReady() {
            return stream.isReady();
        }

        @Override
        public void onReady() {
            stream.onReady();
        }

        @Override
        public void cancel() {
            stream.cancel();
        }
    }
}

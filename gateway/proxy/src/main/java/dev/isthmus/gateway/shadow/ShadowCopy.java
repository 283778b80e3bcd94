package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call once more, for a shadow. Lives on the call's event loop, and counts as under way until it has ended, and where
 * answers are compared, the main call too. Whoever waits for the main call does not wait for this.
 */
final class ShadowCopy implements Reply {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowCopy.class);
    private static final String MARK = "isthmus-shadow";

    private final Shadow shadow;
    private final Target target;
    private final Call call;
    private final ShadowReply answers = new ShadowReply();
    private long started;
    private long held;
    private boolean sent;
    /** Whether the shadow's reply has ended, or will not come. */
    private boolean over;
    /** Whether nothing is held any more. */
    private boolean closed;

    /** What is compared, as far as it has come. */
    private static final class ShadowReply {
        /** Whether a main answer is still to come, or has come and is kept. */
        private boolean wanted = true;

        private @Nullable InferMessage main;
        private @Nullable InferMessage own;
    }

    /** A copy of a call; counts as under way already. */
    ShadowCopy(Shadow shadow, Target target, Call call) {
        this.shadow = shadow;
        this.target = target;
        this.call = call;
        this.answers.wanted = shadow.config().compare();
    }

    /** Sends it, or leaves it be. Nothing is thrown. */
    void send(RequestSource source) {
        if (over) {
            return;
        }
        try {
            ServerFeatures peer = target.upstream().peer();
            // A region of shared memory may be written to by the server: it belongs to the main one.
            ServerFeatures apart = new ServerFeatures(peer.wire(), peer.dialect(), peer.binaryTensorData(), false);
            InferMessage message = source.prepare(apart, target.model());
            if (hold(size(message))) {
                started = shadow.runtime().now();
                sent = true;
                target.upstream().infer(copy(), target.model(), message, this);
            } else {
                message.release();
                leave(ShadowOutcome.MEMORY);
            }
        } catch (OipException unsendable) {
            leave(ShadowOutcome.UNSENDABLE);
        } catch (RuntimeException fault) {
            LOG.error("copy of a call for shadow '{}'", shadow.config().label(), fault);
            leave(ShadowOutcome.FAILED);
        }
    }

    private Call copy() {
        Map<String, String> headers = new HashMap<>(call.headers());
        headers.put(MARK, "true");
        long deadline = started + shadow.config().timeout().toNanos();
        return new Call(call.operation(), deadline, headers, call.loop(), call.allocator())
                .withAffinity(call.affinity());
    }

    /** It is not sent, or has failed. */
    void leave(ShadowOutcome outcome) {
        if (!over) {
            over = true;
            shadow.figures().count(outcome);
            close();
        }
    }

    @Override
    public void message(ReplyMessage answer) {
        if (!over
                && answers.wanted
                && answers.own == null
                && answer instanceof ReplyMessage.Inference inference
                && keep(inference.message())) {
            answers.own = inference.message();
        } else {
            answer.release();
        }
    }

    @Override
    public void complete() {
        if (over) {
            return;
        }
        over = true;
        shadow.figures().answeredAfter(shadow.runtime().now() - started);
        meet();
    }

    @Override
    public void fail(OipException failure) {
        leave(failure.code() == ErrorCode.DEADLINE_EXCEEDED ? ShadowOutcome.TIMEOUT : ShadowOutcome.FAILED);
    }

    /** Whether the main answer is wanted. */
    boolean compares() {
        return !closed && answers.wanted;
    }

    /** @param answer borrowed */
    void mainAnswered(InferMessage answer) {
        if (closed || !answers.wanted || answers.main != null) {
            return;
        }
        if (keep(answer)) {
            answers.main = answer.retained();
        }
        if (over) {
            meet();
        }
    }

    void mainEnded() {
        if (answers.main != null) {
            return;
        }
        answers.wanted = false;
        if (over) {
            meet();
        } else if (!sent) {
            leave(ShadowOutcome.LATE);
        }
    }

    /** Whether an answer can be kept for the comparison, which otherwise does not take place. */
    private boolean keep(InferMessage answer) {
        long size = size(answer);
        if (size > shadow.runtime().limits().answerBytes()) {
            answers.wanted = false;
            shadow.figures().count(ComparisonResult.LEFT_OUT);
            return false;
        }
        if (!hold(size)) {
            answers.wanted = false;
            shadow.figures().count(ComparisonResult.DROPPED);
            return false;
        }
        return true;
    }

    private boolean hold(long bytes) {
        if (!shadow.runtime().held().take(bytes)) {
            return false;
        }
        held += bytes;
        return true;
    }

    /** The shadow has answered: compares when the main answer is there, waits where it may come. */
    private void meet() {
        InferMessage main = answers.main;
        InferMessage own = answers.own;
        if (!answers.wanted || own == null) {
            close();
        } else if (main != null) {
            long bytes = held;
            ShadowMemory all = shadow.runtime().held();
            answers.main = null;
            answers.own = null;
            held = 0;
            close();
            shadow.runtime()
                    .comparer()
                    .take(new ResponsePair(
                            shadow.figures(), shadow.transcoder(), call.allocator(), main, own, () -> all.give(bytes)));
        }
    }

    private void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (answers.main != null) {
            answers.main.release();
            answers.main = null;
        }
        if (answers.own != null) {
            answers.own.release();
            answers.own = null;
        }
        shadow.runtime().held().give(held);
        held = 0;
        shadow.exit();
    }

    /** The bytes that a message keeps. */
    private static long size(InferMessage message) {
        return switch (message) {
            case InferMessage.RestMessage rest -> rest.body().content().readableBytes();
            case InferMessage.ProtobufMessage protobuf -> protobuf.message().readableBytes();
            case InferMessage.DecodedRequest request -> size(request.request().inputs().stream());
            case InferMessage.Response response -> size(response.response().outputs().stream());
        };
    }

    private static long size(Stream<Tensor> tensors) {
        return tensors.mapToLong(tensor -> tensor.data().readableBytes()).sum();
    }
}

package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.shadow.ShadowRuntime.ResponsePair;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One copy of a call, sent to a shadow. Used on the call's event loop. Holds a permit until it has ended and, if
 * responses are compared, the primary call has ended, too. The primary call never waits for it.
 */
final class ShadowCopy implements Reply {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowCopy.class);
    private static final String MARKER_HEADER = "isthmus-shadow";

    private final Shadow shadow;
    private final Target target;
    private final Call call;
    private TraceSpan span = TraceSpan.NONE;
    private long started;
    private long held;
    private boolean sent;
    /** Whether the shadow's reply has ended, or none will arrive. */
    private boolean ended;
    /** Whether everything was released. */
    private boolean closed;
    /** Whether the primary response is awaited or kept. */
    private boolean wanted;

    private @Nullable InferMessage primaryResponse;
    private @Nullable InferMessage shadowResponse;

    /** A copy that already holds a permit. */
    ShadowCopy(Shadow shadow, Target target, Call call) {
        this.shadow = shadow;
        this.target = target;
        this.call = call;
        this.wanted = shadow.config().compare();
    }

    /** Sends the copy or drops it. Throws nothing. */
    void send(InferSource source) {
        if (ended) {
            return;
        }
        try {
            ServerFeatures peer = target.upstream().peer();
            // The shadow must not write to shared memory regions, which belong to the primary call.
            ServerFeatures unshared = new ServerFeatures(peer.wire(), peer.dialect(), peer.binaryTensorData(), false);
            InferMessage message = source.copied(unshared, target.model());
            if (hold(message.bytes())) {
                started = shadow.runtime().now();
                sent = true;
                span = call.context().span().copy(shadow.config().label());
                target.upstream().send(copy(), new UpstreamRequest.InferenceRequest(target.model(), message), this);
            } else {
                message.release();
                drop(ShadowOutcome.MEMORY);
            }
        } catch (OipException unsendable) {
            drop(ShadowOutcome.UNSENDABLE);
        } catch (OutOfMemoryError exhausted) {
            drop(ShadowOutcome.MEMORY);
        } catch (RuntimeException fault) {
            CallLog.of(RepeatingLogEvent.fault(LOG, fault), call.context())
                    .log(
                            "internal error in copying a call to shadow '{}'; please report it",
                            shadow.config().label());
            drop(ShadowOutcome.FAILED);
        }
    }

    private Call copy() {
        long deadline = started + shadow.config().timeout().toNanos();
        CallContext context = CallContext.internal(call.loop(), call.allocator());
        context.traced(span);
        AsciiString id = call.context().sentId();
        if (id != null) {
            context.identified(id, true);
        }
        return new Call(call.operation(), deadline, call.headers(), context)
                .withHeader(MARKER_HEADER, "true")
                .withAffinity(call.affinity());
    }

    /** The copy was not sent, or has failed. */
    void drop(ShadowOutcome outcome) {
        if (!ended) {
            ended = true;
            span.ended(ErrorCode.INTERNAL, "dropped");
            shadow.figures().count(outcome);
            close();
        }
    }

    @Override
    public void message(ReplyMessage response) {
        if (!ended
                && wanted
                && shadowResponse == null
                && response instanceof ReplyMessage.Inference inference
                && keep(inference.message())) {
            shadowResponse = inference.message();
        } else {
            response.release();
        }
    }

    @Override
    public void complete() {
        if (ended) {
            return;
        }
        ended = true;
        span.ended(null, "");
        shadow.figures().respondedAfter(shadow.runtime().now() - started);
        compareIfComplete();
    }

    @Override
    public void fail(OipException failure) {
        if (!ended) {
            span.ended(failure.code(), failure.message());
        }
        drop(failure.code() == ErrorCode.DEADLINE_EXCEEDED ? ShadowOutcome.TIMEOUT : ShadowOutcome.FAILED);
    }

    /** Whether the primary response is needed. */
    boolean compares() {
        return !closed && wanted;
    }

    /** @param response borrowed */
    void primaryResponded(InferMessage response) {
        if (closed || !wanted || primaryResponse != null) {
            return;
        }
        if (keep(response)) {
            primaryResponse = response.retained();
        }
        if (ended) {
            compareIfComplete();
        }
    }

    void primaryEnded() {
        if (primaryResponse != null) {
            return;
        }
        wanted = false;
        if (ended) {
            compareIfComplete();
        } else if (!sent) {
            drop(ShadowOutcome.LATE);
        }
    }

    /** Reserves memory to keep a response; otherwise the comparison is left out. */
    private boolean keep(InferMessage response) {
        boolean fits = response.bytes() <= shadow.runtime().limits.responseBytes();
        if (fits && hold(response.bytes())) {
            return true;
        }
        wanted = false;
        shadow.figures().count(fits ? ComparisonResult.DROPPED : ComparisonResult.LEFT_OUT);
        return false;
    }

    private boolean hold(long bytes) {
        if (!shadow.runtime().held().reserve(bytes)) {
            return false;
        }
        held += bytes;
        return true;
    }

    /** The shadow has responded: compares if the primary response has arrived, waits if it may arrive. */
    private void compareIfComplete() {
        InferMessage primary = primaryResponse;
        InferMessage copied = shadowResponse;
        if (!wanted || copied == null) {
            close();
        } else if (primary != null) {
            ResponsePair pair =
                    new ResponsePair(shadow, call.context().requestId(), call.allocator(), primary, copied, held);
            primaryResponse = null;
            shadowResponse = null;
            held = 0;
            close();
            shadow.runtime().compare(pair);
        }
    }

    private void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (primaryResponse != null) {
            primaryResponse.release();
            primaryResponse = null;
        }
        if (shadowResponse != null) {
            shadowResponse.release();
            shadowResponse = null;
        }
        shadow.runtime().held().release(held);
        held = 0;
        shadow.copies().release();
    }
}

package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.BatchedModel.SentCall;
import dev.isthmus.gateway.batching.JoinedBatch.SingleRequests;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A client's request: sent alone, or waiting to be joined. Used on the event loop of its call, except that a {@link
 * JoinedBatch} has its message while it waits, and hands over answers from another loop.
 */
final class BatchMember extends ForwardingReply implements Subscription {
    private final BatchedModel model;
    private final Upstream upstream;
    private final Call call;
    private final UpstreamRequest.InferenceRequest request;
    private final long startNanos = System.nanoTime();

    private @Nullable JoinedBatch batch;
    private @Nullable Future<?> deadline;
    /** Its own call at the server; null while there is none. */
    private @Nullable SentCall sent;

    private @Nullable SingleRequests singles;
    private Subscription inFlight = Subscription.NONE;
    private volatile boolean ended;

    /** @param request taken */
    BatchMember(
            BatchedModel model, Upstream upstream, Call call, UpstreamRequest.InferenceRequest request, Reply client) {
        super(client);
        this.model = model;
        this.upstream = upstream;
        this.call = call;
        this.request = request;
    }

    Call call() {
        return call;
    }

    Upstream upstream() {
        return upstream;
    }

    boolean hasEnded() {
        return ended;
    }

    /** Releases its message. */
    void release() {
        request.release();
    }

    /** Sends it at once and alone, as this call. */
    void send(SentCall own) {
        sent = own;
        try {
            inFlight = upstream.send(call, request, this).cancelIf(ended);
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** Waits for others, until its deadline. */
    void await(JoinableRequest joinable) {
        if (call.hasDeadline()) {
            long left = call.deadlineNanos() - startNanos;
            deadline = call.loop().schedule(this::expired, left, TimeUnit.NANOSECONDS);
        }
        model.join(this, joinable).forEach(JoinedBatch::start);
    }

    /** It waits in this batch, under the lock of its model. */
    void waits(JoinedBatch chosen) {
        batch = chosen;
    }

    private void expired() {
        if (!ended) {
            OipException failure = new UpstreamFailures(upstream.name(), () -> false)
                    .timedOut(call.deadlineNanos() - startNanos, null);
            cancel();
            delegate().fail(failure);
        }
    }

    @Override
    public void cancel() {
        if (ended) {
            return;
        }
        end();
        JoinedBatch waiting = batch;
        if (sent != null) {
            endSent(false);
            inFlight.cancel();
        } else if (waiting != null && model.leave(waiting, this)) {
            release();
        } else if (waiting != null) {
            waiting.left();
        }
    }

    private void end() {
        ended = true;
        if (deadline != null) {
            deadline.cancel(false);
        }
    }

    private void endSent(boolean answered) {
        if (sent != null) {
            model.end(sent, answered && singles == null);
        }
        if (singles != null) {
            singles.ended(answered);
            singles = null;
        }
    }

    /** Nobody came to be joined with it. */
    void sendAlone() {
        onLoop(
                () -> {
                    if (ended) {
                        release();
                    } else {
                        send(model.begin(1));
                    }
                },
                this::release);
    }

    /** The joined call has failed, perhaps because of another request: this one is tried alone. */
    void sendSingly(SingleRequests tried) {
        onLoop(
                () -> {
                    if (ended) {
                        release();
                        tried.ended(false);
                    } else {
                        linked();
                        singles = tried;
                        send(model.begin(1));
                    }
                },
                this::release);
    }

    /** Its part (taken) of the response to a joined call has arrived. */
    void answer(InferMessage part, Map<String, String> headers) {
        onLoop(() -> answered(part, headers), part::release);
    }

    private void answered(InferMessage part, Map<String, String> headers) {
        if (ended) {
            part.release();
            return;
        }
        end();
        linked();
        try {
            call.memory().response(part.bytes());
        } catch (OipException noMemory) {
            part.release();
            delegate().fail(noMemory);
            return;
        }
        if (!headers.isEmpty()) {
            delegate().headers(headers);
        }
        delegate().only(new ReplyMessage.Inference(part));
    }

    /** The joined call has failed for all its requests. */
    void failJoined(OipException failure) {
        onLoop(
                () -> {
                    if (!ended) {
                        end();
                        linked();
                        delegate().fail(failure);
                    }
                },
                () -> {});
    }

    /** The joined call has ended: what happened to it has happened to this request. */
    private void linked() {
        if (batch != null) {
            CallContext joined = batch.context();
            call.context().span().linked(joined.span());
            joined.retries().forEach(call.context()::retried);
            for (int i = 0; i < joined.attempts(); i++) {
                call.context().attempted(joined.server());
            }
        }
    }

    /**
     * Runs a task on the event loop of the call.
     *
     * @param stopped runs instead if the event loop has ended, and the client's connection with it
     */
    private void onLoop(Runnable task, Runnable stopped) {
        if (!EventLoops.handOver(call.loop(), task)) {
            stopped.run();
        }
    }

    @Override
    public void complete() {
        if (!ended) {
            end();
            endSent(true);
            super.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!ended) {
            end();
            endSent(false);
            super.fail(failure);
        }
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }
}

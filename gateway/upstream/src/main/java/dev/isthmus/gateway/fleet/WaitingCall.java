package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.queue.QueuedEntry;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call that waits in a {@link CallQueue}, and then is one to the cluster. It holds its request until then. Used on the
 * call's event loop, except for {@link #start} and {@link #refuse}, which anybody calls who has taken it from the queue.
 */
final class WaitingCall implements Subscription {
    private final CallQueue queue;
    private final Call call;
    private final UpstreamRequest request;
    private final Object caller;
    private final Reply client;
    private final long since;
    private final long rank;
    /** Guarded by the queue's lock; null while it is in no queue. */
    private @Nullable QueuedEntry<WaitingCall> entry;

    private @Nullable Future<?> timer;
    private @Nullable Subscription sent;
    private boolean ended;

    /**
     * A call that is not in the queue yet.
     *
     * @param request taken
     * @param since when the call came
     * @param rank among the calls of its caller
     */
    WaitingCall(
            CallQueue queue, Call call, UpstreamRequest request, Object caller, Reply client, long since, long rank) {
        this.queue = queue;
        this.call = call;
        this.request = request;
        this.caller = caller;
        this.client = client;
        this.since = since;
        this.rank = rank;
    }

    Call call() {
        return call;
    }

    UpstreamRequest request() {
        return request;
    }

    ModelRef model() {
        return request.model();
    }

    Object caller() {
        return caller;
    }

    Reply client() {
        return client;
    }

    long since() {
        return since;
    }

    long rank() {
        return rank;
    }

    @Nullable
    QueuedEntry<WaitingCall> entry() {
        return entry;
    }

    void entry(@Nullable QueuedEntry<WaitingCall> now) {
        entry = now;
    }

    /** Waits for at most this time. */
    void await(long nanos) {
        timer = call.loop().schedule(this::expire, Math.max(0, nanos), TimeUnit.NANOSECONDS);
    }

    private void expire() {
        timer = null;
        if (queue.remove(this)) {
            fail(queue.expired(this));
        }
    }

    /** It was taken from the queue, with a place. Returns false, and releases it, if its event loop has ended. */
    boolean start() {
        return onLoop(this::send);
    }

    private boolean onLoop(Runnable task) {
        try {
            call.loop().execute(task);
            return true;
        } catch (RejectedExecutionException stopped) {
            // The gateway has ended, and the client's connection with it.
            request.release();
            return false;
        }
    }

    private void send() {
        if (ended) {
            queue.giveBack(this, false);
            return;
        }
        try {
            sent = queue.send(this);
        } catch (RuntimeException | OutOfMemoryError e) {
            ended = true;
            stopTimer();
            client.fail(CallLog.failureOf(e, call.context()));
        }
        if (sent != null) {
            stopTimer();
        } else if (timer == null && !ended) {
            expire();
        }
    }

    /** It was taken from the queue, and gets no place. */
    void refuse(OipException failure) {
        onLoop(() -> fail(failure));
    }

    private void fail(OipException failure) {
        if (!ended) {
            end();
            client.fail(failure);
        }
    }

    private void end() {
        ended = true;
        stopTimer();
        request.release();
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    @Override
    public void cancel() {
        if (sent != null) {
            sent.cancel();
        } else if (!ended) {
            end();
            queue.remove(this);
        }
    }

    @Override
    public void onReady() {
        if (sent != null) {
            sent.onReady();
        }
    }
}

package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request that waits for the response to an equal one, on the event loop and until the deadline of its own call. It
 * keeps what it would send, in case that the other call ends without a response for it.
 */
final class CollapsedCall implements Subscription {
    private final ResponseCache cache;
    private final CacheLookup missed;
    private final UpstreamRequest sent;
    private final SharedCall shared;
    private final Call call;
    private @Nullable ScheduledFuture<?> timer;
    private boolean ended;
    /** The call of its own that it makes after all. */
    private Subscription own = Subscription.NONE;

    private boolean cancelled;

    /** @param sent taken, if the call joins the other one */
    CollapsedCall(ResponseCache cache, CacheLookup missed, UpstreamRequest sent, SharedCall shared) {
        this.cache = cache;
        this.missed = missed;
        this.sent = sent;
        this.shared = shared;
        this.call = missed.call();
    }

    /** Begins to wait. */
    void start() {
        cache.waits(1);
        if (call.hasDeadline()) {
            long left = Math.max(0, call.deadlineNanos() - System.nanoTime());
            timer = call.loop().schedule(this::expire, left, TimeUnit.NANOSECONDS);
        }
    }

    /** Runs a task on the event loop of the call. */
    void run(Runnable task) {
        if (call.loop().inEventLoop()) {
            task.run();
            return;
        }
        try {
            call.loop().execute(task);
        } catch (RejectedExecutionException stopped) {
            // The event loop has stopped with the gateway: nobody reads the response.
            sent.release();
        }
    }

    private boolean end() {
        if (ended) {
            return false;
        }
        ended = true;
        cache.waits(-1);
        if (timer != null) {
            timer.cancel(false);
        }
        return true;
    }

    /** Replies with the response of the other call. */
    void respond(StoredResponse response) {
        if (!end()) {
            return;
        }
        sent.release();
        collapsed();
        try {
            missed.reply().notSent();
            InferMessage message = response.message(call.allocator(), missed.id());
            missed.reply().headers(CacheStatus.collapsed(response.headers()));
            missed.reply().only(new ReplyMessage.Inference(message));
            cache.given(missed.key(), response, call.context());
        } catch (RuntimeException | OutOfMemoryError e) {
            missed.reply().fail(CallLog.failureOf(e, call.context()));
        }
    }

    /** Fails as the other call. */
    void fail(OipException failure) {
        if (end()) {
            sent.release();
            collapsed();
            missed.reply().notSent();
            missed.reply().fail(failure);
        }
    }

    private void collapsed() {
        cache.count(CacheOutcome.COLLAPSED, call.context());
        call.context().span().linked(shared.span());
    }

    /** Sends it, or waits for another equal request. */
    void sendAgain() {
        if (end()) {
            begin(() -> cache.send(missed, sent));
        }
    }

    /** Sends it: its response is not to be shared. */
    void sendAlone() {
        if (end()) {
            cache.count(CacheOutcome.MISS, call.context());
            begin(() -> missed.upstream().send(call, sent, missed.reply()));
        }
    }

    private void begin(Supplier<Subscription> start) {
        try {
            own = start.get().cancelIf(cancelled);
        } catch (RuntimeException | OutOfMemoryError fault) {
            missed.reply().fail(CallLog.failureOf(fault, call.context()));
        }
    }

    private void expire() {
        if (end()) {
            shared.leave(this);
            sent.release();
            missed.reply().notSent();
            missed.reply()
                    .fail(new OipException(
                            ErrorCode.DEADLINE_EXCEEDED,
                            "the deadline passed while an equal request was being served"));
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
        if (end()) {
            shared.leave(this);
            sent.release();
        } else {
            own.cancel();
        }
    }

    @Override
    public void onReady() {
        own.onReady();
    }
}

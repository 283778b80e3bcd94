package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.cache.ResponseCache.CacheLookup;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.SharedHeaders;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request that was sent, and the equal requests that wait for its response. It is on the event loop of the first
 * call; those that wait have their own. If the client of the first one goes away, it goes on as long as others wait.
 */
final class SharedCall implements Reply, Subscription {
    private final ResponseCache cache;
    private final CacheLookup first;
    private final long epoch;
    private final Reply reply;
    private Map<String, String> headers = Map.of();
    private @Nullable StoredResponse response;
    /** The same, if it is kept. */
    private @Nullable StoredResponse stored;
    /** Whether the first call is given its response. */
    private boolean delivering;

    private boolean ended;
    private Subscription inFlight = Subscription.NONE;

    /** Guarded by this. */
    private final List<CollapsedCall> waiting = new ArrayList<>();
    /** Whether nobody joins any more. Guarded by this. */
    private boolean closed;
    /** Whether the client of the first call is gone. Guarded by this. */
    private boolean abandoned;

    /** @param shares whether others may join */
    SharedCall(ResponseCache cache, CacheLookup first, long epoch, boolean shares) {
        this.cache = cache;
        this.first = first;
        this.epoch = epoch;
        this.reply = first.reply();
        this.closed = !shares;
    }

    /**
     * Sends the request.
     *
     * @param sent taken
     */
    Subscription send(Call call, UpstreamRequest sent) {
        Subscription started;
        try {
            started = first.upstream().send(call, sent, this);
        } catch (RuntimeException | OutOfMemoryError fault) {
            ended = true;
            OipException failure = CallLog.failureOf(fault, call.context());
            each(close(), waits -> waits.fail(failure));
            throw fault;
        }
        inFlight = started.cancelIf(ended);
        return this;
    }

    /** The span of the first call. */
    TraceSpan span() {
        return first.call().context().span();
    }

    /** Adds a call that waits; false if it is too late. */
    synchronized boolean join(CollapsedCall call) {
        return !closed && waiting.add(call);
    }

    /** The client of a waiting call is gone, or its deadline has passed. */
    void leave(CollapsedCall call) {
        boolean last;
        synchronized (this) {
            last = waiting.remove(call) && abandoned && waiting.isEmpty();
            closed |= last;
        }
        if (last) {
            cache.ended(this, first);
            EventLoops.handOver(first.call().loop(), this::end);
        }
    }

    private void end() {
        ended = true;
        inFlight.cancel();
    }

    @Override
    public void cancel() {
        if (delivering) {
            // The response turned out to be invalid.
            unstore();
        }
        synchronized (this) {
            abandoned = true;
            if (!waiting.isEmpty()) {
                return;
            }
            closed = true;
        }
        cache.ended(this, first);
        end();
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }

    /** The request was not sent, because a response to an equal one is kept. */
    void answered(StoredResponse kept) {
        ended = true;
        each(close(), call -> call.respond(kept));
    }

    /** Nobody joins any more; returns who waits. */
    private List<CollapsedCall> close() {
        cache.ended(this, first);
        synchronized (this) {
            closed = true;
            List<CollapsedCall> all = List.copyOf(waiting);
            waiting.clear();
            return all;
        }
    }

    /** Nobody joins any more; false if somebody waits. */
    private synchronized boolean closeIfAlone() {
        closed |= waiting.isEmpty();
        return waiting.isEmpty();
    }

    @Override
    public boolean isReady() {
        return reply.isReady();
    }

    /** A response that is too large to be kept may pass, if nobody else waits for it. */
    @Override
    public boolean acceptsParts(Wire wire, long length) {
        boolean passes = length > cache.config().maxResponse() && closeIfAlone() && reply.acceptsParts(wire, length);
        if (passes) {
            cache.keeps(first.directives(), length, headers);
            reply.headers(CacheStatus.sent(first.directives().refresh(), false));
        }
        return passes;
    }

    @Override
    public void headers(Map<String, String> more) {
        Map<String, String> all = new HashMap<>(headers);
        all.putAll(more);
        headers = all;
        reply.headers(more);
    }

    @Override
    public void message(ReplyMessage message) {
        if (message instanceof ReplyMessage.Inference inference) {
            try {
                keep(inference);
            } catch (RuntimeException | OutOfMemoryError fault) {
                // Those that wait are sent on their own.
                CallLog.failureOf(fault, first.call().context());
                response = null;
            }
        }
        delivering = true;
        reply.message(message);
        delivering = false;
        if (ResponseCache.isInvalid(first.call().context())) {
            unstore();
        }
    }

    private void unstore() {
        if (stored != null) {
            cache.remove(first.key(), stored);
            stored = null;
            reply.headers(CacheStatus.sent(first.directives().refresh(), false));
        }
    }

    /** Copies a response before its client gets it. */
    private void keep(ReplyMessage.Inference inference) {
        long bytes = inference.message().bytes();
        boolean stores = cache.keeps(first.directives(), bytes, headers);
        boolean wanted = stores || !closeIfAlone();
        if (wanted && bytes <= cache.config().maxResponse() && !SharedHeaders.isOfOneClient(headers)) {
            StoredResponse copy = new StoredResponse(inference.message(), headers, first.served(), cache.now());
            response = copy;
            stored = stores && cache.store(first.key(), copy, epoch) ? copy : null;
        }
        reply.headers(CacheStatus.sent(first.directives().refresh(), stored != null));
    }

    @Override
    public void complete() {
        ended = true;
        StoredResponse complete = response;
        // Of one that is too large for all, or meant for one client, each requests its own.
        each(close(), complete == null ? CollapsedCall::sendAlone : call -> call.respond(complete));
        reply.complete();
    }

    @Override
    public void fail(OipException failure) {
        ended = true;
        each(close(), isOfFirst(failure) ? CollapsedCall::sendAgain : call -> call.fail(failure));
        reply.fail(failure);
    }

    /** Whether it is due to the memory, the time or the place in the queue of the first call; others have their own. */
    private boolean isOfFirst(OipException failure) {
        return switch (failure.failureCause()) {
            case MEMORY -> failure.isResponseDropped();
            case QUEUE_CALLER_FULL, QUEUE_DISPLACED -> true;
            case QUEUE_TOO_LATE -> first.call().hasDeadline();
            default ->
                failure.code() == ErrorCode.DEADLINE_EXCEEDED && first.call().hasDeadline();
        };
    }

    private static void each(List<CollapsedCall> calls, Consumer<CollapsedCall> action) {
        calls.forEach(call -> call.run(() -> action.accept(call)));
    }

    /**
     * A request that waits for the response to an equal one, on the event loop and until the deadline of its own call. It
     * keeps what it would send, in case that the other call ends without a response for it.
     */
    static final class CollapsedCall implements Subscription {
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
            } else if (!EventLoops.handOver(call.loop(), task)) {
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
            if (!collapsed()) {
                return;
            }
            try {
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
            if (collapsed()) {
                missed.reply().fail(failure);
            }
        }

        /** It has ended without being sent; false if it had ended. */
        private boolean collapsed() {
            if (!end()) {
                return false;
            }
            sent.release();
            cache.count(CacheOutcome.COLLAPSED, call.context());
            call.context().span().linked(shared.span());
            missed.reply().notSent();
            return true;
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
            if (collapsed()) {
                shared.leave(this);
                missed.reply()
                        .fail(new OipException(
                                ErrorCode.DEADLINE_EXCEEDED,
                                "the deadline passed while an equal request was being served"));
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
            if (collapsed()) {
                shared.leave(this);
            } else {
                own.cancel();
            }
        }

        @Override
        public void onReady() {
            own.onReady();
        }
    }
}

package dev.isthmus.gateway.call;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The request of an {@link Exchange}: it comes in here from the client, passes the layers, and goes on to what is behind
 * them. If a layer decides later, it keeps what arrives. Confined to the event loop of the call.
 */
final class ExchangeRequest implements RequestSink, LongSupplier {
    private final Exchange x;
    private final Layers layers;
    private final ExchangeHandler handler;
    /** What is behind the layers. */
    private RequestSink behind = RequestSink.ENDED;
    /** What arrives before that is opened. */
    private @Nullable Deque<ByteBuf> held;

    private boolean opened;
    private boolean waiting;
    private boolean waited;
    private boolean sized;
    private boolean complete;
    private boolean countsMemory;
    private long transformedBytes;

    ExchangeRequest(Exchange x, Layers layers, ExchangeHandler handler) {
        this.x = x;
        this.layers = layers;
        this.handler = handler;
    }

    /** Passes the layers from this one on, then opens what is behind them. */
    void openFrom(int first) {
        for (int i = first; i < layers.open.length && !x.finished; i++) {
            int next = i + 1;
            try {
                CompletableFuture<?> decision = layers.open[i].open(x);
                if (decision != null && isUndecided(decision, () -> openFrom(next))) {
                    return;
                }
            } catch (RuntimeException refused) {
                x.abort(layers.failureIn(layers.open[i], x.context, refused));
            }
        }
        if (!x.finished) {
            dispatch();
        }
    }

    private void dispatch() {
        try {
            behind = handler.open(x);
        } catch (RuntimeException refused) {
            x.abort(CallLog.failureOf(refused, x.context));
            return;
        }
        opened = true;
        if (x.finished) {
            return;
        }
        Deque<ByteBuf> before = held;
        held = null;
        while (before != null && !before.isEmpty()) {
            behind.data(before.remove());
        }
        count();
        if (complete && !x.finished) {
            endRequest();
        } else if (waited && behind.isReady()) {
            x.client.onReady();
        }
    }

    /** Whether a layer decides later: a task of the loop then goes on. If it has refused, the exchange has ended. */
    private boolean isUndecided(CompletableFuture<?> decision, Runnable then) {
        // Another thread may complete it, so it is looked at once.
        if (!decision.isDone()) {
            waiting = true;
            waited = true;
            decision.whenComplete((decided, refusal) -> x.context.loop().execute(() -> decided(refusal, then)));
            return true;
        }
        if (decision.isCompletedExceptionally()) {
            x.abort(CallLog.failureOf(decision.exceptionNow(), x.context));
        }
        return false;
    }

    private void decided(@Nullable Throwable refusal, Runnable then) {
        waiting = false;
        if (refusal != null) {
            x.abort(CallLog.failureOf(refusal, x.context));
        } else if (!x.finished) {
            then.run();
        }
    }

    /** As {@link Exchange#isWaiting}. */
    boolean isWaiting() {
        return waiting;
    }

    /** Whether it waits for a layer that transforms it. */
    void waits(boolean forLayer) {
        waiting = forLayer;
    }

    /** A layer has changed it: what it holds now is counted, too. */
    void transformed(InferRequest request) {
        transformedBytes = request.inputs().stream()
                .mapToLong(each -> each.data().readableBytes())
                .sum();
        count();
    }

    /** As {@link Exchange#countMemory}. */
    void countMemory() {
        countsMemory = true;
        x.context.memory().requestHeld(this);
    }

    /** What the request holds, in bytes. */
    @Override
    public long getAsLong() {
        return x.finished ? 0 : held();
    }

    @Override
    public void data(ByteBuf part) {
        int length = part.readableBytes();
        x.bytes += length;
        if (x.stream == null) {
            x.context.received(length);
        }
        if (!x.finished) {
            try {
                layers.data(x, part);
            } catch (OipException refused) {
                x.abort(refused);
            }
        }
        if (x.finished) {
            part.release();
        } else if (opened) {
            behind.data(part);
        } else {
            held = held == null ? new ArrayDeque<>(4) : held;
            held.add(part);
        }
        count();
    }

    /** Counts what the request holds. */
    void count() {
        if (countsMemory && !x.finished) {
            try {
                x.context.memory().request(held());
            } catch (OipException refused) {
                x.abort(refused);
            }
        }
    }

    @Override
    public void end() {
        if (x.stream == null) {
            x.context.requestComplete(layers.now());
        }
        if (x.finished) {
            return;
        }
        try {
            layers.complete(x);
        } catch (OipException refused) {
            x.abort(refused);
        }
        complete = true;
        if (opened && !waiting && !x.finished) {
            endRequest();
        }
    }

    private void endRequest() {
        if (sized(x.bytes)) {
            behind.end();
        }
    }

    /** As {@link Exchange#sized}. */
    boolean sized(long length) {
        if (!sized) {
            sized = true;
            sizedFrom(0, length);
        }
        return !waiting && !x.finished;
    }

    private void sizedFrom(int first, long length) {
        for (int i = first; i < layers.sized.length && !x.finished; i++) {
            int next = i + 1;
            try {
                CompletableFuture<?> decision = layers.sized[i].sized(x, length);
                if (decision != null && isUndecided(decision, () -> sizedLater(next, length))) {
                    return;
                }
            } catch (RuntimeException refused) {
                x.abort(layers.failureIn(layers.sized[i], x.context, refused));
            }
        }
    }

    private void sizedLater(int next, long length) {
        sizedFrom(next, length);
        if (complete && !waiting && !x.finished) {
            behind.end();
        }
    }

    @Override
    public void cancel() {
        x.cancel();
    }

    @Override
    public boolean isReady() {
        return opened && behind.isReady();
    }

    @Override
    public boolean inOnePiece() {
        return !opened || behind.inOnePiece();
    }

    @Override
    public long held() {
        return held == null
                ? behind.held() + transformedBytes
                : held.stream().mapToLong(ByteBuf::readableBytes).sum();
    }

    /** The client accepts responses again. */
    @Override
    public void onReady() {
        behind.onReady();
    }

    /** The outcome of the call is known. */
    void finish() {
        if (countsMemory) {
            x.context.memory().request(0);
        }
        if (held != null) {
            held.forEach(ByteBuf::release);
            held = null;
        }
    }

    /** Cancels what is behind the layers. */
    void cancelBehind() {
        behind.cancel();
    }
}

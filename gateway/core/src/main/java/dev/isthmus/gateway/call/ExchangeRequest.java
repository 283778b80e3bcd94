package dev.isthmus.gateway.call;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The request of an {@link Exchange}: it comes in here from the client, passes the layers, and goes on to what is behind
 * them. If a layer decides later, it keeps what arrives. Confined to the event loop of the call.
 */
final class ExchangeRequest implements RequestSink, LongSupplier {
    private static final Logger LOG = LoggerFactory.getLogger(ExchangeRequest.class);

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
            try {
                CompletableFuture<?> decision = layers.open[i].open(x);
                if (decision != null) {
                    int next = i + 1;
                    await(decision, () -> openFrom(next));
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
            x.abort(failureOf(refused));
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

    /** Goes on when a layer has decided: at once if it has. */
    private void await(CompletableFuture<?> decision, Runnable then) {
        if (decision.isDone()) {
            decided(decision.isCompletedExceptionally() ? decision.exceptionNow() : null, then);
        } else {
            awaitLater(decision, then);
        }
    }

    /** Goes on in a task of the loop, even if a layer decides now. */
    private void awaitLater(CompletableFuture<?> decision, Runnable then) {
        waiting = true;
        waited = true;
        decision.whenComplete((decided, refusal) -> x.context.loop().execute(() -> {
            waiting = false;
            decided(refusal, then);
        }));
    }

    private void decided(@Nullable Throwable refusal, Runnable then) {
        if (refusal != null) {
            x.abort(failureOf(refusal));
        } else if (!x.finished) {
            then.run();
        }
    }

    private OipException failureOf(Throwable thrown) {
        Throwable cause =
                thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
        if (cause instanceof OipException refusal) {
            return refusal;
        }
        CallLog.of(LOG.atError(), x.context)
                .addMarker(RepeatingLogEvent.MARKER)
                .setCause(thrown)
                .log("internal error in a call; please report it");
        return new OipException(ErrorCode.INTERNAL, "internal error", thrown);
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
            try {
                CompletableFuture<?> decision = layers.sized[i].sized(x, length);
                // It may be completed by another thread, so it is looked at once.
                if (decision != null && !decision.isDone()) {
                    int next = i + 1;
                    awaitLater(decision, () -> sizedLater(next, length));
                    return;
                }
                if (decision != null && decision.isCompletedExceptionally()) {
                    x.abort(failureOf(decision.exceptionNow()));
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

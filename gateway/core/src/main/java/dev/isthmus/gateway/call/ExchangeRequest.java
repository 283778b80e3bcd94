package dev.isthmus.gateway.call;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The request of an {@link Exchange}: it comes in here from the client, passes the layers, and goes on to what is behind
 * them. If a layer decides later, it keeps what arrives. Confined to the event loop of the call.
 */
final class ExchangeRequest implements RequestSink, LongSupplier {
    private final Exchange exchange;
    private final Layers layers;
    private final Function<Exchange, RequestSink> handler;
    /** What is behind the layers. */
    private RequestSink behind = RequestSink.ENDED;
    /** What arrives before that is opened. */
    private @Nullable Deque<ByteBuf> held;

    private boolean opened;
    /** As {@link Exchange#isWaiting}. */
    boolean waiting;

    private boolean sized;
    private boolean complete;
    private boolean countsMemory;
    private long transformedBytes;

    ExchangeRequest(Exchange exchange, Layers layers, Function<Exchange, RequestSink> handler) {
        this.exchange = exchange;
        this.layers = layers;
        this.handler = handler;
    }

    /** Passes the layers from this one on, then opens what is behind them. */
    void openFrom(int first) {
        for (int i = first; i < layers.open.length && !exchange.finished; i++) {
            int next = i + 1;
            try {
                CompletableFuture<?> decision = layers.open[i].open(exchange);
                if (decision != null && isUndecided(layers.open[i], decision, () -> openFrom(next))) {
                    return;
                }
            } catch (RuntimeException | Error refused) {
                exchange.abort(layers.failureIn(layers.open[i], exchange.context, refused));
            }
        }
        if (!exchange.finished) {
            dispatch(first > 0);
        }
        if (exchange.stream == null) {
            exchange.notify(layers.opened, Layer::opened);
        }
    }

    /** @param waited whether the client may wait for it */
    private void dispatch(boolean waited) {
        try {
            behind = handler.apply(exchange);
        } catch (RuntimeException | OutOfMemoryError refused) {
            exchange.abort(CallLog.failureOf(refused, exchange.context));
            return;
        }
        if (exchange.finished) {
            return;
        }
        // What arrives meanwhile is held, too.
        while (held != null && !held.isEmpty()) {
            pass(held.remove());
        }
        held = null;
        opened = true;
        count();
        if (complete && !exchange.finished) {
            completed();
        } else if (waited && behind.isReady()) {
            exchange.client.onReady();
        }
    }

    /** Whether a layer decides later: a task of the loop then goes on. Throws what it has failed with. */
    private boolean isUndecided(Layer layer, CompletableFuture<?> decision, Runnable then) {
        // Another thread may complete it, so it is looked at once.
        if (!decision.isDone()) {
            await(layer, decision, exchange.call().deadlineNanos(), refusal -> decided(layer, refusal, then));
            return true;
        }
        decision.join();
        return false;
    }

    /**
     * Goes on in a task of the loop when a layer has decided. If it has not by the deadline, the call fails.
     *
     * @param then receives what it has failed with; null if it has not
     */
    private void await(
            Layer layer, CompletableFuture<?> decision, long deadlineNanos, Consumer<@Nullable Throwable> then) {
        waiting = true;
        EventLoop loop = exchange.context.loop();
        Runnable late = () -> exchange.abort(new OipException(
                ErrorCode.DEADLINE_EXCEEDED, "the layer '" + layer.name() + "' took longer than the call may"));
        Future<?> timer = deadlineNanos == Call.NO_DEADLINE
                ? null
                : loop.schedule(late, Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
        decision.whenComplete((decided, refusal) -> loop.execute(() -> {
            if (timer != null) {
                timer.cancel(false);
            }
            waiting = false;
            then.accept(refusal);
        }));
    }

    private void decided(Layer layer, @Nullable Throwable refusal, Runnable then) {
        if (refusal != null) {
            exchange.abort(layers.failureIn(layer, exchange.context, refusal));
        } else if (!exchange.finished) {
            try {
                then.run();
            } catch (RuntimeException | OutOfMemoryError fault) {
                exchange.abort(CallLog.failureOf(fault, exchange.context));
            }
        }
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
        exchange.context.memory().requestHeld(this);
    }

    /** What the request holds, in bytes. */
    @Override
    public long getAsLong() {
        return exchange.finished ? 0 : held();
    }

    @Override
    public void data(ByteBuf part) {
        int length = part.readableBytes();
        exchange.bytes += length;
        exchange.context.received(length);
        if (exchange.finished) {
            part.release();
        } else if (opened) {
            pass(part);
        } else {
            held = held == null ? new ArrayDeque<>(4) : held;
            held.add(part);
        }
        count();
    }

    /** Shows a part to the layers, which are open, and passes it on. */
    private void pass(ByteBuf part) {
        try {
            layers.data(exchange, part);
        } catch (OipException refused) {
            exchange.abort(refused);
        }
        if (exchange.finished) {
            part.release();
        } else {
            behind.data(part);
        }
    }

    /** Counts what the request holds. */
    void count() {
        if (countsMemory && !exchange.finished) {
            try {
                exchange.context.memory().request(held());
            } catch (OipException refused) {
                exchange.abort(refused);
            }
        }
    }

    @Override
    public void end() {
        exchange.context.requestComplete(layers.now());
        complete = true;
        if (opened && !exchange.finished) {
            completed();
        }
    }

    private void completed() {
        try {
            layers.complete(exchange);
        } catch (OipException refused) {
            exchange.abort(refused);
        }
        if (!waiting && !exchange.finished && sized(exchange.bytes)) {
            behind.end();
        }
    }

    /** As {@link Exchange#sized}. */
    boolean sized(long length) {
        if (!sized) {
            sized = true;
            sizedFrom(0, length);
        }
        return !waiting && !exchange.finished;
    }

    private void sizedFrom(int first, long length) {
        for (int i = first; i < layers.sized.length && !exchange.finished; i++) {
            int next = i + 1;
            try {
                CompletableFuture<?> decision = layers.sized[i].sized(exchange, length);
                if (decision != null && isUndecided(layers.sized[i], decision, () -> sizedLater(next, length))) {
                    return;
                }
            } catch (RuntimeException | Error refused) {
                exchange.abort(layers.failureIn(layers.sized[i], exchange.context, refused));
            }
        }
    }

    private void sizedLater(int next, long length) {
        sizedFrom(next, length);
        if (complete && !waiting && !exchange.finished) {
            behind.end();
        }
    }

    @Override
    public void cancel() {
        exchange.cancel();
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
            exchange.context.memory().request(0);
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

    /** A decoded request on its way through the layers that transform it. Confined to the event loop of the call. */
    static final class Transformation {
        private final Exchange exchange;
        private final Layers layers;
        private final long deadlineNanos;
        private final Consumer<InferRequest> then;
        /** Owned. */
        private InferRequest request;

        /** @param request taken */
        Transformation(
                Exchange exchange,
                Layers layers,
                InferRequest request,
                long deadlineNanos,
                Consumer<InferRequest> then) {
            this.exchange = exchange;
            this.layers = layers;
            this.request = request;
            this.deadlineNanos = deadlineNanos;
            this.then = then;
        }

        /** Passes the layers from this one on, then the result to its receiver. */
        void passFrom(int first) {
            for (int i = first; i < layers.transform.length && !exchange.isFinished(); i++) {
                Layer layer = layers.transform[i];
                try {
                    CompletableFuture<InferRequest> result =
                            layer.transforms(exchange) ? layer.transform(exchange, request) : null;
                    if (result != null && !result.isDone()) {
                        int next = i + 1;
                        exchange.request.await(layer, result, deadlineNanos, fault -> goOn(layer, result, next));
                        return;
                    }
                    if (result != null) {
                        change(result.join());
                    }
                } catch (RuntimeException | Error fault) {
                    fail(layer, fault);
                    return;
                }
            }
            if (exchange.isFinished()) {
                request.release();
            } else {
                then.accept(request);
            }
        }

        private void goOn(Layer layer, CompletableFuture<InferRequest> result, int next) {
            try {
                change(result.join());
            } catch (RuntimeException | OutOfMemoryError fault) {
                fail(layer, fault);
                return;
            }
            passFrom(next);
        }

        /** A layer has changed the request: what it made must be valid, whatever the client sent. */
        @SuppressWarnings("ReferenceEquality") // the same object still has its tensors
        private void change(@Nullable InferRequest changed) {
            InferRequest before = request;
            request = Objects.requireNonNull(changed, "a request is expected, got null");
            if (before == request) {
                return;
            }
            before.release();
            for (Tensor input : request.inputs()) {
                if (!input.shared()) {
                    try {
                        TensorCheck.INPUT.requireRaw(input.name(), input.dataType(), input.shape(), input.data());
                    } catch (OipException invalid) {
                        throw new IllegalStateException(invalid.message(), invalid);
                    }
                }
            }
            exchange.request.transformed(request);
        }

        private void fail(Layer layer, Throwable thrown) {
            request.release();
            exchange.abort(layers.failureIn(layer, exchange.context(), thrown));
        }
    }
}

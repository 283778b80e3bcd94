package dev.isthmus.gateway.call;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A decoded request on its way through the layers that transform it. Confined to the event loop of the call. */
final class Transformation {
    private final Exchange exchange;
    private final Layers layers;
    private final long deadlineNanos;
    private final Consumer<InferRequest> then;
    /** Owned. */
    private InferRequest request;

    /** @param request taken */
    Transformation(
            Exchange exchange, Layers layers, InferRequest request, long deadlineNanos, Consumer<InferRequest> then) {
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
                    await(layer, result, i + 1);
                    return;
                }
                if (result != null) {
                    change(result.join());
                }
            } catch (RuntimeException fault) {
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

    private void await(Layer layer, CompletableFuture<InferRequest> result, int next) {
        exchange.request.waits(true);
        ScheduledFuture<?> timer = deadlineNanos == Call.NO_DEADLINE
                ? null
                : exchange.context()
                        .loop()
                        .schedule(
                                () -> exchange.abort(new OipException(
                                        ErrorCode.DEADLINE_EXCEEDED,
                                        "the layer '" + layer.name() + "' took longer than the call may")),
                                Math.max(0, deadlineNanos - System.nanoTime()),
                                TimeUnit.NANOSECONDS);
        result.whenComplete((changed, fault) -> exchange.context().loop().execute(() -> {
            if (timer != null) {
                timer.cancel(false);
            }
            exchange.request.waits(false);
            goOn(layer, changed, fault, next);
        }));
    }

    private void goOn(Layer layer, @Nullable InferRequest changed, @Nullable Throwable fault, int next) {
        try {
            if (fault == null) {
                change(changed);
            }
        } catch (RuntimeException invalid) {
            fail(layer, invalid);
            return;
        }
        if (fault == null) {
            passFrom(next);
        } else {
            fail(layer, fault);
        }
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

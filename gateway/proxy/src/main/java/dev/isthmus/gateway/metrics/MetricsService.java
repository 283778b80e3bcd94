package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ErrorCode;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Puts a {@link MeteredCall} around each call of a handler. Shared by all event loops. */
final class MetricsService implements Service {
    private final Service handler;
    private final Function<Operation, OperationMeters> meters;
    private final LongAdder underWay;
    private final LongSupplier nanoTime;
    private final Runnable ended;

    MetricsService(
            Service handler,
            Function<Operation, OperationMeters> meters,
            LongAdder underWay,
            LongSupplier nanoTime,
            Runnable ended) {
        this.handler = handler;
        this.meters = meters;
        this.underWay = underWay;
        this.nanoTime = nanoTime;
        this.ended = ended;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        underWay.increment();
        MeteredCall metered = new MeteredCall(this, meters.apply(call.operation()), reply);
        try {
            return metered.reading(handler.open(call, metered));
        } catch (RuntimeException fault) {
            metered.end(ErrorCode.INTERNAL);
            throw fault;
        }
    }

    long now() {
        return nanoTime.getAsLong();
    }

    void ended(MeteredCall call, OperationMeters of, @Nullable ErrorCode code, long nanos) {
        underWay.decrement();
        try {
            of.ended(call, code, nanos);
        } finally {
            ended.run();
        }
    }
}

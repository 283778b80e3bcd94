package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.limit.Admission;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The layer that limits concurrent calls, of all callers and of each, and the memory of their requests. A call acquires a concurrency permit when
 * its request is complete, so that no client holds one by sending nothing; a stream of requests acquires it with its
 * first message. The permit is released when the call ends or its client disconnects; until then the call counts the
 * memory of its request. Without a permit or memory, the call fails. Health and metadata requests are always admitted.
 */
final class AdmissionControl implements Layer {
    private static final Slot<Admission.Permit> PERMIT = new Slot<>();

    private final Admission admission;

    AdmissionControl(Admission admission) {
        this.admission = admission;
    }

    @Override
    public String name() {
        return "admission";
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        if (exchange.stream() == null && exchange.call().operation().needsPermit()) {
            admission.check(exchange.context().principal().name());
            exchange.countMemory();
        }
        return null;
    }

    @Override
    public void data(Exchange exchange, ByteBuf part) {
        if (exchange.call().operation() instanceof Operation.InferStream) {
            acquire(exchange);
        }
    }

    @Override
    public void complete(Exchange exchange) {
        Operation operation = exchange.call().operation();
        if (exchange.stream() == null && !(operation instanceof Operation.InferStream) && operation.needsPermit()) {
            acquire(exchange);
        }
    }

    private void acquire(Exchange exchange) {
        if (exchange.get(PERMIT) == null) {
            exchange.put(
                    PERMIT, admission.acquire(exchange.context().principal().name()));
        }
    }

    @Override
    public void finished(Exchange exchange) {
        Admission.Permit permit = exchange.get(PERMIT);
        if (permit != null) {
            permit.release();
        }
    }
}

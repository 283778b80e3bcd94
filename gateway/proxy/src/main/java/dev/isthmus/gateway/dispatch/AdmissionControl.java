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
    public @Nullable CompletableFuture<?> open(Exchange x) {
        if (x.stream() == null && x.call().operation().needsPermit()) {
            admission.check(x.context().principal().name());
            x.countMemory();
        }
        return null;
    }

    @Override
    public void data(Exchange x, ByteBuf part) {
        if (x.call().operation() instanceof Operation.InferStream) {
            acquire(x);
        }
    }

    @Override
    public void complete(Exchange x) {
        Operation operation = x.call().operation();
        if (x.stream() == null && !(operation instanceof Operation.InferStream) && operation.needsPermit()) {
            acquire(x);
        }
    }

    private void acquire(Exchange x) {
        if (x.get(PERMIT) == null) {
            x.put(PERMIT, admission.acquire(x.context().principal().name()));
        }
    }

    @Override
    public void finished(Exchange x) {
        Admission.Permit permit = x.get(PERMIT);
        if (permit != null) {
            permit.release();
        }
    }
}

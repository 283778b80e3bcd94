package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.call.Exchange;
import java.util.concurrent.CompletableFuture;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.limit.Admission;
import io.netty.buffer.ByteBuf;
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
    public String explain(Call call) {
        return needsPermit(call.operation()) ? "one of " + admission.limits().total() + " permits" : "";
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange x) {
        if (x.stream() == null && needsPermit(x.call().operation())) {
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
        if (x.stream() == null && !(operation instanceof Operation.InferStream) && needsPermit(operation)) {
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

    private static boolean needsPermit(Operation operation) {
        return switch (operation) {
            case Operation.Infer infer -> true;
            case Operation.InferStream stream -> true;
            case Operation.Generate generate -> true;
            case Operation.Manage manage -> true;
            case Operation.Reflect request -> true;
            case Operation.CheckHealth request -> false;
            case Operation.ServerLive request -> false;
            case Operation.GatewayReady request -> false;
            case Operation.ServerReady request -> false;
            case Operation.ReadServerMetadata request -> false;
            case Operation.ModelReady request -> false;
            case Operation.ReadModelMetadata request -> false;
            case Operation.DescribeApi request -> false;
        };
    }
}

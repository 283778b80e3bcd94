package dev.isthmus.local;

import dev.isthmus.local.LocalStatistics.Duration;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import java.util.concurrent.atomic.LongAdder;

/** Counts the requests of a model version; kept across reloads. Thread-safe. */
final class ModelCounts {
    private final LongAdder inferences = new LongAdder();
    private final LongAdder executions = new LongAdder();
    private final Timed success = new Timed();
    private final Timed fail = new Timed();
    private final Timed queue = new Timed();
    private final Timed compute = new Timed();
    private volatile long lastMillis;

    private static final class Timed {
        final LongAdder count = new LongAdder();
        final LongAdder nanos = new LongAdder();

        void add(long time) {
            count.increment();
            nanos.add(time);
        }

        Duration sum() {
            return new Duration(count.sum(), nanos.sum());
        }
    }

    void started(boolean first, long queued) {
        if (first) {
            executions.increment();
        }
        queue.add(queued);
    }

    void succeeded(long rows, long nanos, long ran) {
        inferences.add(rows);
        success.add(nanos);
        compute.add(ran);
        lastMillis = System.currentTimeMillis();
    }

    void failed(long nanos) {
        fail.add(nanos);
        lastMillis = System.currentTimeMillis();
    }

    /** The inferences that a request counts as. */
    static long rows(InferRequest request, int maxBatchSize) {
        boolean rows = maxBatchSize > 0
                && !request.inputs().isEmpty()
                && request.inputs().getFirst().shape().rank() > 0;
        return rows ? request.inputs().getFirst().shape().extent(0) : 1;
    }

    LocalStatistics statistics(ModelRef model) {
        return new LocalStatistics(
                model,
                lastMillis,
                inferences.sum(),
                executions.sum(),
                success.sum(),
                fail.sum(),
                queue.sum(),
                compute.sum());
    }
}

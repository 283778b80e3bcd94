package dev.isthmus.gateway.ramp;

import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** Statistics of one step of a ramp. Lock-free and thread-safe. */
final class StepFigures {
    private final TargetFigures target = new TargetFigures();
    private final TargetFigures others = new TargetFigures();
    private final LongAdder comparisons = new LongAdder();
    private final DoubleAccumulator difference = new DoubleAccumulator(Math::max, 0);

    TargetFigures target() {
        return target;
    }

    TargetFigures others() {
        return others;
    }

    void differed(double by) {
        difference.accumulate(by);
        comparisons.increment();
    }

    boolean compared() {
        return comparisons.sum() > 0;
    }

    /** The largest difference so far. */
    double difference() {
        return difference.get();
    }
}

package dev.isthmus.gateway.ramp;

import java.util.concurrent.atomic.DoubleAccumulator;

/** What happened in one step of a ramp. Recorded by many threads at once, without locks. */
final class StepFigures {
    private final TargetFigures target = new TargetFigures();
    private final TargetFigures others = new TargetFigures();
    private final DoubleAccumulator difference = new DoubleAccumulator(Math::max, 0);

    TargetFigures target() {
        return target;
    }

    TargetFigures others() {
        return others;
    }

    void differed(double by) {
        difference.accumulate(by);
    }

    /** The largest so far. */
    double difference() {
        return difference.get();
    }
}

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

    double difference() {
        return difference.get();
    }

    /** Call statistics of one or several targets in one step. Lock-free and thread-safe. */
    static final class TargetFigures {
        private static final double PERCENTILE = 0.95;
        /** How often a judgement may be wrong. */
        private static final double ERROR = 0.001;

        private final LongAdder answered = new LongAdder();
        private final LongAdder failed = new LongAdder();
        private final LatencyHistogram latencies = new LatencyHistogram();

        /** @param nanos ignored for failures, which are quick or take a full timeout */
        void record(boolean failure, long nanos) {
            if (failure) {
                failed.increment();
            } else {
                answered.increment();
                latencies.record(nanos);
            }
        }

        long answered() {
            return answered.sum();
        }

        long calls() {
            return answered.sum() + failed.sum();
        }

        /** From 0 to 1; 0 without calls. */
        double errorRate() {
            long failures = failed.sum();
            long all = answered.sum() + failures;
            return all == 0 ? 0 : (double) failures / all;
        }

        /**
         * Whether a target of which this share of calls fails would have had as many failures in more than one of 1,000
         * cases.
         *
         * @param share smaller than the error rate
         */
        boolean mayBeChance(double share) {
            return Binomial.atLeast(failed.sum(), calls(), share) > ERROR;
        }

        /** Where the 95th percentile latency is; wrong, in each direction, in at most one of 1,000 cases. */
        LatencyHistogram.PercentileInterval p95Interval() {
            return latencies.interval(PERCENTILE, ERROR);
        }

        /** The 95th percentile latency of answered calls. */
        long p95Nanos() {
            return latencies.percentile(PERCENTILE);
        }
    }
}

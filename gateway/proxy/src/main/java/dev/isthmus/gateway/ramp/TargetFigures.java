package dev.isthmus.gateway.ramp;

import java.util.concurrent.atomic.LongAdder;

/** How the calls of a target, or of several, ended in one step. Recorded by many threads at once, without locks. */
final class TargetFigures {
    private static final double PERCENTILE = 0.95;

    private final LongAdder answered = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LatencyHistogram latencies = new LatencyHistogram();

    /** @param nanos counts for those that did not fail: failures are quick, or as long as a timeout */
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

    /** The 95th percentile of those answered. */
    long p95Nanos() {
        return latencies.percentile(PERCENTILE);
    }
}

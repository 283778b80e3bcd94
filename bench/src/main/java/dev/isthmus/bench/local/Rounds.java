package dev.isthmus.bench.local;

import java.util.List;

/**
 * Repetitions: in each round every side is measured once, so that what else the machine does hits all of them. The first
 * round only warms up.
 *
 * @param count those that count
 * @param seconds of one measurement
 */
record Rounds(int count, double seconds) {
    /** Measures one side once. */
    interface Side {
        void measure() throws Exception;
    }

    void run(Side... sides) throws Exception {
        for (int round = 0; round <= count; round++) {
            for (Side side : sides) {
                side.measure();
            }
        }
    }

    <T> List<T> counted(List<T> repetitions) {
        return repetitions.subList(1, repetitions.size());
    }

    double median(List<Double> repetitions) {
        return Latency.median(counted(repetitions), Double::doubleValue);
    }
}

package dev.isthmus.bench.local;

import java.util.List;

/**
 * Repetitions: each round measures every side once, so that other load of the machine affects all of them. The first
 * round is a warm-up.
 *
 * @param count rounds without the warm-up
 * @param seconds of one measurement
 */
record Rounds(int count, double seconds) {
    /** One side of a comparison. */
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

package dev.isthmus.gateway.fleet;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counts the requests to one server, its checks, and how long they took. Thread-safe. */
final class ReplicaCounts {
    private final DurationSum[] requests = sums(CallOutcome.values().length);
    /** Those of the requests that were messages of streams. */
    private final AtomicLongArray streamed = new AtomicLongArray(CallOutcome.values().length);

    private final DurationSum[] checks = sums(CheckResult.values().length);

    private final LongAdder boundErrors = new LongAdder();

    /** The result of a check of a server. */
    enum CheckResult {
        READY,
        /** The server reports that it is not ready. */
        NOT_READY,
        /** The server did not respond, or not in time. */
        FAILED;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A number of durations and their sum. */
    static final class DurationSum {
        private final LongAdder count = new LongAdder();
        private final LongAdder nanos = new LongAdder();

        void add(long took) {
            count.increment();
            nanos.add(took);
        }

        long count() {
            return count.sum();
        }

        long nanos() {
            return nanos.sum();
        }
    }

    private static DurationSum[] sums(int length) {
        DurationSum[] sums = new DurationSum[length];
        for (int i = 0; i < length; i++) {
            sums[i] = new DurationSum();
        }
        return sums;
    }

    void boundError() {
        boundErrors.increment();
    }

    /** Those of the requests with the outcome ERROR that could only go to this server. */
    long boundErrors() {
        return boundErrors.sum();
    }

    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    DurationSum requests(CallOutcome outcome) {
        return requests[outcome.ordinal()];
    }

    /** A request that was a message of a stream has ended. */
    @SuppressWarnings("EnumOrdinal") // as above
    void streamed(CallOutcome outcome, long nanos) {
        streamed.incrementAndGet(outcome.ordinal());
        requests(outcome).add(nanos);
    }

    /** The number of requests that were no messages of streams. */
    @SuppressWarnings("EnumOrdinal") // as above
    long calls(CallOutcome outcome) {
        return requests(outcome).count() - streamed.get(outcome.ordinal());
    }

    @SuppressWarnings("EnumOrdinal") // as above
    DurationSum checks(CheckResult result) {
        return checks[result.ordinal()];
    }
}

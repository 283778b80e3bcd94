package dev.isthmus.bench.faults;

import java.nio.file.Path;

/**
 * Options of all scenarios.
 *
 * @param home the root of the project
 * @param seconds duration of a scenario's load
 * @param rate requests per second
 * @param brief whether to run the short form for CI: fewer requests and reloads, shorter warm-up
 */
record Options(Path home, int seconds, int rate, boolean brief) {
    /** Service time of a stub in microseconds. */
    static final int SERVICE_MICROS = 5_000;

    /** Timeout of the client in milliseconds. */
    static final int CLIENT_LIMIT_MILLIS = 10_000;

    Options {
        if (seconds < 3 || rate < 1 || (long) seconds * rate > Ledger.MAX_IDS) {
            throw new IllegalArgumentException("seconds " + seconds + " and rate " + rate
                    + ": at least 3 and 1 are expected, and at most " + Ledger.MAX_IDS + " requests");
        }
    }

    int requests() {
        return seconds * rate;
    }

    /** Duration of a part of the load in milliseconds. */
    long millis(double part) {
        return Math.round(seconds * 1_000 * part);
    }
}

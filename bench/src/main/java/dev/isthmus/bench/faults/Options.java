package dev.isthmus.bench.faults;

import java.nio.file.Path;

/**
 * How scenarios are played.
 *
 * @param home the root of the project
 * @param seconds how long the load of a scenario lasts
 * @param rate requests a second
 * @param brief whether the form for CI is played: fewer requests, reloads and warm-up
 */
record Options(Path home, int seconds, int rate, boolean brief) {
    /** Microseconds that a stub takes for a request. */
    static final int SERVICE_MICROS = 5_000;

    /** Milliseconds after which the client gives up. */
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

    /** Milliseconds of a part of the load. */
    long millis(double part) {
        return Math.round(seconds * 1_000 * part);
    }
}

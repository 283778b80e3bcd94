package dev.isthmus.bench.faults;

import java.util.List;

/**
 * The result of a scenario.
 *
 * @param notes further measurements, each a short sentence
 */
record Verdict(Result result, List<String> notes) {
    /** Whether the limit was met. */
    enum Result {
        PASS,
        MISSED,
        /** There is no limit. */
        REPORTED
    }

    Verdict {
        notes = List.copyOf(notes);
    }

    static Verdict of(boolean met, String... notes) {
        return new Verdict(met ? Result.PASS : Result.MISSED, List.of(notes));
    }
}

package dev.isthmus.bench.faults;

import java.util.List;

/**
 * What a scenario showed.
 *
 * @param notes what else was measured, each a short sentence
 */
record Verdict(Result result, List<String> notes) {
    /** Whether the figure was met. */
    enum Result {
        PASS,
        MISSED,
        /** There is no figure to meet. */
        REPORTED
    }

    Verdict {
        notes = List.copyOf(notes);
    }

    static Verdict of(boolean met, String... notes) {
        return new Verdict(met ? Result.PASS : Result.MISSED, List.of(notes));
    }
}

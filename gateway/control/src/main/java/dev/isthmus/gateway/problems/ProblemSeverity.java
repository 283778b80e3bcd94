package dev.isthmus.gateway.problems;

import java.util.Locale;

/** How bad a problem is, the worst first. */
enum ProblemSeverity {
    /** Calls fail. */
    CRITICAL,
    /** Calls may fail soon, or some do. */
    WARNING;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}

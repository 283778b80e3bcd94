package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.net.Labelled;

/** How bad a problem is, the worst first. */
enum ProblemSeverity implements Labelled {
    /** Calls fail. */
    CRITICAL,
    /** Calls may fail soon, or some do. */
    WARNING
}

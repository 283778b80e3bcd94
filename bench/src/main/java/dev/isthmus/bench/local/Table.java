package dev.isthmus.bench.local;

import java.io.PrintWriter;

/** Prints measurements row by row; records whether all goals were met. */
final class Table {
    private static final String FORM = "| %-48s | %-18s | %-18s | %-10s | %-12s | %-7s |%n";

    private final PrintWriter out;
    private boolean met = true;

    /** Prints the heading. */
    Table(PrintWriter out) {
        this.out = out;
        out.printf(FORM, "measure", "Isthmus", "Python or bare", "ratio", "goal", "verdict");
        out.println("|" + "---|".repeat(6));
    }

    /** A row. */
    void goal(boolean reached, String measure, String mine, String theirs, String ratio, String goal) {
        met &= reached;
        out.printf(FORM, measure, mine, theirs, ratio, goal, reached ? "pass" : "missed");
        out.flush();
    }

    boolean met() {
        return met;
    }
}

package dev.isthmus.bench.local;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints measurements row by row; records whether all goals were met. */
final class Table {
    private final PrintWriter out;
    private final List<Integer> widths;
    private boolean met = true;

    /**
     * Prints the heading.
     *
     * @param widths of the columns, including that of the verdict
     */
    Table(PrintWriter out, List<Integer> widths, String... heading) {
        this.out = out;
        this.widths = List.copyOf(widths);
        print("verdict", heading);
        out.println("|" + "---|".repeat(widths.size()));
    }

    /** A row with a goal. */
    void goal(boolean reached, String... cells) {
        met &= reached;
        print(reached ? "pass" : "missed", cells);
    }

    /** A row without a goal. */
    void row(String... cells) {
        print("", cells);
    }

    private void print(String verdict, String... cells) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.size(); i++) {
            String cell = i < cells.length ? cells[i] : i == widths.size() - 1 ? verdict : "";
            line.append(String.format(Locale.ROOT, "| %-" + widths.get(i) + "s ", cell));
        }
        out.println(line.append('|'));
        out.flush();
    }

    boolean met() {
        return met;
    }
}

package dev.isthmus.gateway.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Prints rows in columns that are as wide as their widest cell. */
final class TextTable {
    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();

    TextTable(String... heads) {
        rows.add(List.of(heads));
    }

    /** Adds a row with a cell for each column. Control characters are replaced: a cell is part of one line. */
    void row(String... cells) {
        List<String> row = new ArrayList<>(cells.length);
        for (String cell : cells) {
            row.add(cell.replaceAll("\\p{Cntrl}", "?"));
        }
        rows.add(row);
    }

    void print(PrintWriter out) {
        int columns = rows.getFirst().size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String cell = row.get(i);
                line.append(cell).append(" ".repeat(widths[i] - cell.length())).append(GAP);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }
}

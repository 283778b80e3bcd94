package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Prints rows in columns that are as wide as their widest cell. */
final class TextTable {
    private static final String GAP = "  ";

    private TextTable() {}

    private static String text(JsonNode value) {
        return value.isArray()
                ? value.valueStream().map(JsonNode::asText).collect(Collectors.joining(", "))
                : value.isBoolean() ? value.asBoolean() ? "yes" : "no" : value.asText();
    }

    /**
     * Prints a table, in which a list is one cell. Control characters are replaced: a cell is part of one line.
     *
     * @param columns the title of each and the member that it shows: "MODEL=name, MAX BYTES=max_bytes"
     * @param elements a row each
     */
    static void print(PrintWriter out, String columns, Stream<? extends JsonNode> elements) {
        List<String[]> all =
                Stream.of(columns.split(", ")).map(each -> each.split("=", 2)).toList();
        List<List<String>> rows = new ArrayList<>();
        rows.add(all.stream().map(each -> each[0]).toList());
        elements.forEach(element -> rows.add(all.stream()
                .map(each -> text(element.path(each[1])).replaceAll("\\p{Cntrl}", "?"))
                .toList()));
        int[] widths = new int[all.size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                String cell = row.get(i);
                line.append(cell).append(" ".repeat(widths[i] - cell.length())).append(GAP);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }
}

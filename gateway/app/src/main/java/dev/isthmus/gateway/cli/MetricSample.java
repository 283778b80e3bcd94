package dev.isthmus.gateway.cli;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One line of Prometheus' text format. */
record MetricSample(String name, Map<String, String> labels, double value) {

    MetricSample {
        labels = Map.copyOf(labels);
    }

    /** The label's value; empty if it is absent. */
    String label(String label) {
        return labels.getOrDefault(label, "");
    }

    /** Parses a line; null for a comment and for anything else that is not a sample. */
    static @Nullable MetricSample parse(String line) {
        int end = line.indexOf('{');
        int space = line.indexOf(' ');
        if (line.startsWith("#") || space < 1) {
            return null;
        }
        if (end < 0 || end > space) {
            return of(line.substring(0, space), Map.of(), line.substring(space));
        }
        Map<String, String> labels = new HashMap<>();
        int at = end + 1;
        while (at < line.length() && line.charAt(at) != '}') {
            int quote = line.indexOf("=\"", at);
            if (quote < 0) {
                return null;
            }
            StringBuilder value = new StringBuilder();
            int next = value(line, quote + 2, value);
            labels.put(line.substring(at, quote), value.toString());
            at = next < line.length() && line.charAt(next) == ',' ? next + 1 : next;
        }
        return at < line.length() ? of(line.substring(0, end), labels, line.substring(at + 1)) : null;
    }

    /** Appends the text of a label up to its quote; returns the index after the quote. */
    private static int value(String line, int from, StringBuilder value) {
        int at = from;
        while (at < line.length() && line.charAt(at) != '"') {
            char c = line.charAt(at);
            if (c == '\\' && at + 1 < line.length()) {
                at++;
                c = line.charAt(at) == 'n' ? '\n' : line.charAt(at);
            }
            value.append(c);
            at++;
        }
        return at + 1;
    }

    private static @Nullable MetricSample of(String name, Map<String, String> labels, String rest) {
        String[] parts = rest.strip().split(" ", 2);
        try {
            return new MetricSample(name, labels, number(parts[0]));
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private static double number(String text) {
        return switch (text) {
            case "+Inf" -> Double.POSITIVE_INFINITY;
            case "-Inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
    }
}

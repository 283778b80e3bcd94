package dev.isthmus.gateway.fleet.discovery;

import java.util.OptionalDouble;

/** Reads metrics in the Prometheus text format. */
final class PrometheusText {

    private PrometheusText() {}

    /** The sum of a metric over all its labels; empty if it is absent. */
    static OptionalDouble sum(String text, String metric) {
        return text.lines()
                .filter(line -> isOf(line, metric))
                .mapToDouble(PrometheusText::value)
                .filter(Double::isFinite)
                .reduce(Double::sum);
    }

    private static boolean isOf(String line, String metric) {
        if (!line.startsWith(metric) || line.length() == metric.length()) {
            return false;
        }
        char next = line.charAt(metric.length());
        return next == '{' || next == ' ' || next == '\t';
    }

    /** The value after the labels; a timestamp may follow. NaN if it is not a number. */
    private static double value(String line) {
        int labels = line.lastIndexOf('}');
        String rest = labels < 0 ? line.substring(line.indexOf(' ') + 1) : line.substring(labels + 1);
        String[] words = rest.strip().split("\\s+", 2);
        try {
            return Double.parseDouble(words[0]);
        } catch (NumberFormatException e) {
            return Double.NaN;
        }
    }
}

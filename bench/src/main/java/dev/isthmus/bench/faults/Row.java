package dev.isthmus.bench.faults;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** A scenario's row in the report. */
record Row(String scenario, ClientProtocol protocol, List<String> cells, Verdict verdict) {
    private static final String FORM =
            "| %-12s | %-5s | %7s | %7s | %-26s | %7s | %7s | %7s | %8s | %6s | %-8s | %s |%n";

    Row {
        cells = List.copyOf(cells);
    }

    /** The row of a completed scenario. */
    static Row played(String scenario, ClientProtocol protocol, Tally tally, Ledgers ledgers, Verdict verdict)
            throws IOException {
        List<String> cells = new ArrayList<>();
        cells.add(Long.toString(tally.offeredCount()));
        cells.add(Long.toString(tally.okCount()));
        cells.add(failed(tally.failuresByText()));
        for (double percentile : new double[] {50, 99, 100}) {
            cells.add(String.format(Locale.ROOT, "%.1f", tally.millis(percentile)));
        }
        cells.add(String.format(
                Locale.ROOT, "%.3f", (double) ledgers.all().arrivals() / Math.max(1, tally.offeredCount())));
        cells.add(Integer.toString(ledgers.duplicates()));
        return new Row(scenario, protocol, cells, verdict);
    }

    /** The row of a scenario that could not be run. */
    static Row unplayed(String scenario, ClientProtocol protocol, String problem) {
        return new Row(
                scenario,
                protocol,
                List.of("", "", "", "", "", "", "", ""),
                Verdict.of(false, problem.replaceAll("\\s*\\R\\s*", "; ")));
    }

    /** The number of failures by kind; without the total if there is only one kind. */
    static String failed(Map<String, Integer> byKind) {
        int all = byKind.values().stream().mapToInt(Integer::intValue).sum();
        return byKind.isEmpty()
                ? "0"
                : byKind.entrySet().stream()
                        .map(kind -> kind.getKey() + " " + kind.getValue())
                        .collect(Collectors.joining(", ", all + ": ", ""));
    }

    static String heading() {
        String names = "scenario|front|offered|ok|failed|p50 ms|p99 ms|max ms|attempts|twice|verdict|notes";
        return String.format(Locale.ROOT, FORM, (Object[]) names.split("\\|")) + "|" + "---|".repeat(12)
                + System.lineSeparator();
    }

    String line() {
        List<Object> all = new ArrayList<>(List.of(scenario, protocol.name().toLowerCase(Locale.ROOT)));
        all.addAll(cells);
        all.add(verdict.result().name().toLowerCase(Locale.ROOT));
        all.add(String.join("; ", verdict.notes()));
        return String.format(Locale.ROOT, FORM, all.toArray());
    }
}

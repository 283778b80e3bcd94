package dev.isthmus.bench.fuzz;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Reads the gateway's log: collects errors and stack traces, which are failures, and counts warnings by kind.
 * Thread-safe.
 */
final class GatewayLog {
    private static final int MAX_ERRORS = 40;
    private static final Pattern LINE = Pattern.compile("^\\S+ (ERROR|WARN|INFO|DEBUG|TRACE) .*");
    private static final Pattern TRACE = Pattern.compile("^\\s+at .*|.*(Exception|Error|LEAK)\\b.*");
    private static final Pattern VARIABLE = Pattern.compile("'[^']*'|\"[^\"]*\"|[0-9]+");

    private final List<String> errors = new ArrayList<>();
    private final Map<String, Integer> warnings = new TreeMap<>();
    private String last = "";

    synchronized void line(String line) {
        boolean own = LINE.matcher(line).matches();
        boolean bad = own ? line.contains(" ERROR ") : TRACE.matcher(line).matches();
        if (bad && errors.size() < MAX_ERRORS) {
            // A stack trace needs the log line before it.
            if (!own && !last.isEmpty()) {
                errors.add(last);
            }
            errors.add(line);
        }
        last = own && !bad ? line : "";
        if (own && line.contains(" WARN ")) {
            String kind = VARIABLE.matcher(
                            line.substring(line.indexOf(" WARN ") + 6).strip())
                    .replaceAll("#");
            if (warnings.size() < 1_000 || warnings.containsKey(kind)) {
                warnings.merge(kind, 1, Integer::sum);
            }
        }
    }

    /** The first lines with errors or stack traces. */
    synchronized List<String> errors() {
        return List.copyOf(errors);
    }

    synchronized Map<String, Integer> warnings() {
        return Map.copyOf(warnings);
    }
}

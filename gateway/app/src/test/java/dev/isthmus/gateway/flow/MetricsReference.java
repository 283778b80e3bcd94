package dev.isthmus.gateway.flow;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The tables of docs/reference/metrics.md, made from what a gateway exports. */
final class MetricsReference {
    private static final Pattern HELP = Pattern.compile("# HELP (\\S+) (.*)");
    private static final Pattern TYPE = Pattern.compile("# TYPE (\\S+) (\\S+)");
    private static final Pattern SAMPLE = Pattern.compile("(\\w+)\\{(.*)\\} \\S+");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");
    /** Labels whose values come from the configuration, the servers or the callers. */
    private static final Set<String> OPEN = Set.of(
            "model",
            "protocol",
            "operation",
            "code",
            "what",
            "version",
            "upstream",
            "endpoint",
            "target",
            "shadow",
            "output",
            "arm",
            "principal",
            "file",
            "subject",
            "commit",
            "java",
            "header");
    /** Sections, and the beginnings of the names in them; the first that fits counts. */
    private static final Map<String, List<String>> SECTIONS = sections();

    private final Map<String, Family> families = new TreeMap<>();

    /** A metric: one line of a table. */
    private static final class Family {
        private final String name;
        private String help = "";
        private String type = "";
        private final Map<String, Set<String>> labels = new TreeMap<>();

        Family(String name) {
            this.name = name;
        }
    }

    private static Map<String, List<String>> sections() {
        Map<String, List<String>> sections = new LinkedHashMap<>();
        sections.put(
                "Calls",
                List.of(
                        "isthmus_request",
                        "isthmus_response",
                        "isthmus_model_requests",
                        "isthmus_objective",
                        "isthmus_rate_limited",
                        "isthmus_memory_refused"));
        sections.put(
                "Callers",
                List.of("isthmus_access_refused", "isthmus_principal", "isthmus_credential", "isthmus_external"));
        sections.put(
                "Client connections", List.of("isthmus_connections", "isthmus_cors", "isthmus_http2", "isthmus_tls"));
        sections.put(
                "Targets and upstreams",
                List.of("isthmus_target", "isthmus_upstream", "isthmus_batching", "isthmus_dns"));
        sections.put("Servers", List.of("isthmus_endpoint"));
        sections.put("Models", List.of("isthmus_model", "isthmus_cache", "isthmus_catalogue"));
        sections.put("Shadows and ramps", List.of("isthmus_shadow", "isthmus_ramp"));
        sections.put("Local backend", List.of("isthmus_local"));
        sections.put("Gateway", List.of("isthmus_"));
        sections.put("Process", List.of("process_"));
        return sections;
    }

    /** @param text of {@code /metrics} */
    MetricsReference(String text) {
        text.lines().forEach(this::line);
    }

    private void line(String line) {
        Matcher help = HELP.matcher(line);
        Matcher type = TYPE.matcher(line);
        Matcher sample = SAMPLE.matcher(line);
        if (help.matches()) {
            family(help.group(1)).help = help.group(2);
        } else if (type.matches()) {
            family(type.group(1)).type = type.group(2);
        } else if (sample.matches()) {
            Family family = families.get(sample.group(1).replaceFirst("_(bucket|count|sum)$", ""));
            Family named = families.get(sample.group(1));
            labels(Objects.requireNonNull(named == null ? family : named), sample.group(2));
        }
    }

    private Family family(String name) {
        return families.computeIfAbsent(name, Family::new);
    }

    private static void labels(Family family, String text) {
        Matcher label = LABEL.matcher(text);
        while (label.find()) {
            if (!label.group(1).equals("le")) {
                family.labels
                        .computeIfAbsent(label.group(1), key -> new TreeSet<>())
                        .add(label.group(2));
            }
        }
    }

    /** The names of all metrics, without the maxima of histograms. */
    Set<String> names() {
        return families.keySet().stream().filter(name -> !maximum(name)).collect(Collectors.toCollection(TreeSet::new));
    }

    private boolean maximum(String name) {
        return name.endsWith("_max") && families.containsKey(name.substring(0, name.length() - 4));
    }

    /** All tables, without the metrics of the JVM. */
    String markdown() {
        StringBuilder text = new StringBuilder();
        SECTIONS.keySet().forEach(section -> {
            text.append("### ").append(section).append("\n| name | type | labels | meaning |\n|---|---|---|---|\n");
            families.values().stream()
                    .filter(family -> section.equals(section(family.name)) && !maximum(family.name))
                    .forEach(family -> text.append(row(family)));
            text.append('\n');
        });
        return text.toString();
    }

    private static String section(String name) {
        return SECTIONS.entrySet().stream()
                .filter(each -> each.getValue().stream().anyMatch(name::startsWith))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElse("");
    }

    private static String row(Family family) {
        String labels = family.labels.entrySet().stream()
                .map(each -> label(each.getKey(), each.getValue()))
                .collect(Collectors.joining(", "));
        return "| `" + family.name + "` | " + family.type + " | " + labels + " | " + family.help.replace("|", "\\|")
                + " |\n";
    }

    private static String label(String key, Set<String> values) {
        boolean listed = !OPEN.contains(key) || values.contains("TLSv1.3");
        return "`" + key + "`" + (listed ? " (" + quoted(values) + ")" : "");
    }

    private static String quoted(Iterable<String> values) {
        StringBuilder text = new StringBuilder();
        for (String value : values) {
            text.append(text.isEmpty() ? "" : ", ").append(value.isEmpty() ? "empty" : "`" + value + "`");
        }
        return text.toString();
    }
}

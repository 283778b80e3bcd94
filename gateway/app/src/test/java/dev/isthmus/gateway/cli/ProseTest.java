package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What the prose of README.md, docs and the changelog's next release names in backticks exists: keys of the
 * configuration, metrics with their labels, commands with their operands and options, paths, and files. Blocks are
 * checked by {@link DocumentationTest}.
 */
class ProseTest {
    private static final Pattern SPAN = Pattern.compile("`([^`]+)`");
    private static final Pattern METRIC = Pattern.compile("isthmus_[a-z0-9_]+");
    private static final Pattern LABELS = Pattern.compile("(isthmus_[a-z0-9_]+)\\{([^}]+)}");
    private static final Pattern LABEL = Pattern.compile("(\\w+)(?:!?=~?\"([^\"]*)\")?");
    private static final Pattern HEADING = Pattern.compile("### `([\\w.\\[\\]]+)`");
    private static final Pattern ROW = Pattern.compile("\\| `([a-z0-9_]+)` \\|.*");
    private static final Pattern PATH = Pattern.compile("(?:(?:GET|POST) )?(/[^ ?]*)(?:\\?.*)?");
    /** Of file systems, and /dev. */
    private static final Pattern FILE = Pattern.compile("/(dev|etc|opt|proc|run|tmp|usr|var)(/.*)?");

    private static final Pattern DOTTED = Pattern.compile("[a-z][a-z0-9_]*(\\[])?(\\.[A-Za-z][A-Za-z0-9_]*(\\[])?)+");
    private static final Pattern WORD = Pattern.compile("[a-z0-9]+(_[a-z0-9]+)+");
    /** Names of other programs. */
    private static final Set<String> FOREIGN = Set.of(
            "action_statement",
            "epoll_wait",
            "impact_statement",
            "keepalive_min_timeout",
            "not_affected",
            "nv_inference_queue_duration_us",
            "rt_info",
            "tls_config",
            "under_investigation",
            "unicast_peer",
            "use_remote_address",
            "warm_workers");

    private static final List<String> MODULES = List.of(
            "bench",
            "config",
            "conformance",
            "deploy",
            "gateway",
            "local-backend",
            "proto",
            "transcoder",
            ".ci",
            ".mvn");

    /** A name in backticks, and where it is. */
    private record Span(String place, String text) {}

    private static List<Span> spans() throws IOException {
        List<Span> spans = new ArrayList<>();
        List<MarkdownPage> pages = new ArrayList<>(MarkdownPage.all());
        pages.add(MarkdownPage.nextRelease());
        for (MarkdownPage page : pages) {
            boolean block = false;
            for (int i = 0; i < page.lines().size(); i++) {
                String line = page.lines().get(i);
                if (line.startsWith("```")) {
                    block = !block;
                } else if (!block) {
                    String place = page.name() + ":" + (i + 1);
                    SPAN.matcher(line).results().forEach(span -> spans.add(new Span(place, span.group(1))));
                }
            }
        }
        return spans;
    }

    private static void check(Predicate<String> concerned, Predicate<String> right) throws IOException {
        List<Span> concerns =
                spans().stream().filter(span -> concerned.test(span.text())).toList();
        assertThat(concerns).isNotEmpty();
        assertThat(concerns.stream().filter(span -> !right.test(span.text()))).isEmpty();
    }

    @Test
    void commands_exist_withTheirOperandsAndOptions() throws IOException {
        check(text -> text.startsWith("isthmus ") && !text.startsWith("isthmus -"), ProseTest::isCommand);
    }

    private static boolean isCommand(String text) {
        List<String> words = List.of(text.split(" ", -1));
        StringWriter help = new StringWriter();
        PrintWriter out = new PrintWriter(help);
        if (IsthmusCommand.run(new Console(out, out, () -> false), words.get(1), "--help") != 0) {
            return false;
        }
        List<String> operands =
                words.stream().skip(2).takeWhile(word -> !word.startsWith("-")).toList();
        String usage = help.toString().lines().findFirst().orElse("");
        long expected = Pattern.compile(" \\[?[A-Z]\\S*")
                .matcher(usage.replaceFirst(".*\\[OPTIONS]", ""))
                .results()
                .count();
        boolean shown = operands.isEmpty() || operands.size() == expected;
        return shown
                && words.stream()
                        .filter(word -> word.startsWith("--"))
                        .allMatch(option -> help.toString().contains(option));
    }

    @Test
    void metrics_exist() throws IOException {
        Path reference = MarkdownPage.ROOT.resolve("docs/reference/metrics.md");
        Set<String> metrics = METRIC.matcher(Files.readString(reference))
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toSet());
        check(
                text -> METRIC.matcher(text).lookingAt() && !text.endsWith("…"),
                text -> METRIC.matcher(text)
                        .results()
                        .allMatch(name -> metrics.contains(name.group())
                                || metrics.contains(name.group().replaceFirst("_(count|sum|bucket)$", ""))));
    }

    @Test
    void labelsOfMetrics_exist_withTheirValues() throws IOException {
        Map<String, String> rows = new TreeMap<>();
        for (String line : Files.readAllLines(MarkdownPage.ROOT.resolve("docs/reference/metrics.md"))) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                rows.put(row.group(1), line);
            }
        }
        check(
                text -> LABELS.matcher(text).find(),
                text -> LABELS.matcher(text)
                        .results()
                        .allMatch(metric -> hasLabels(
                                rows.getOrDefault(metric.group(1).replaceFirst("_(count|sum|bucket)$", ""), ""),
                                metric.group(2))));
    }

    private static boolean hasLabels(String row, String labels) {
        return LABEL.matcher(labels).results().allMatch(label -> {
            String name = "`" + label.group(1) + "`";
            int values = row.indexOf(name + " (");
            boolean open = label.group(2) == null || values < 0;
            return row.contains(name)
                    && (open || row.substring(values, row.indexOf(')', values)).contains("`" + label.group(2) + "`"));
        });
    }

    @Test
    void files_areThere() throws IOException {
        Pattern file = Pattern.compile("(" + String.join("|", MODULES) + "|docs|examples)/[\\w./-]+");
        check(
                text -> file.matcher(text.split(" ", -1)[0]).matches() && !text.contains("/target/"),
                text -> Files.exists(MarkdownPage.ROOT.resolve(text.split(" ", -1)[0])));
    }

    @Test
    void paths_areServed() throws IOException {
        Set<String> known = literals();
        check(text -> PATH.matcher(text).matches() && !FILE.matcher(text).matches(), text -> {
            Matcher path = PATH.matcher(text);
            return path.matches() && isServed(path.group(1), known);
        });
    }

    /** The path patterns in the code, with {} for each variable. */
    private static Set<String> literals() throws IOException {
        Pattern literal = Pattern.compile("\"(/[^\" ]*)\"");
        Set<String> paths = new TreeSet<>();
        for (Path file : sources("java")) {
            literal.matcher(Files.readString(file)).results().forEach(each -> paths.add(shape(each.group(1))));
        }
        return paths;
    }

    /** The files of the repository whose names end like this; without tests and what a build makes. */
    private static List<Path> sources(String endings) throws IOException {
        List<Path> sources = new ArrayList<>();
        for (String module : MODULES) {
            try (Stream<Path> files = Files.walk(MarkdownPage.ROOT.resolve(module))) {
                files.filter(Files::isRegularFile)
                        .filter(each -> !each.toString().matches(".*/(target|src/test|node_modules|__pycache__)/.*"))
                        .filter(each -> each.getFileName().toString().matches(".*\\.(" + endings + ")"))
                        .forEach(sources::add);
            }
        }
        return sources;
    }

    private static String shape(String path) {
        return path.replaceAll("\\{\\w+}|<\\w+>|(?<=/)(M|MODEL|NAME|ACTION)(?=/|$)", "{}");
    }

    private static boolean isServed(String path, Set<String> known) {
        if (path.endsWith("…")) {
            String prefix = path.substring(0, path.length() - 1);
            return known.stream().anyMatch(each -> each.startsWith(prefix));
        }
        String shape = shape(path.replace("[/{r}]", "")).replaceFirst("/versions/\\d+", "");
        String ofModel = shape.replaceFirst("^/v2/models/[^/]+", "");
        boolean group = known.stream().anyMatch(each -> each.startsWith(shape.replaceFirst("/?$", "/")));
        boolean below = known.stream()
                .anyMatch(each -> each.matches("/\\w+/") && !each.equals("/v2/") && shape.startsWith(each));
        return known.contains(shape) || known.contains(ofModel) || group || below;
    }

    @Test
    void keysOfTheConfiguration_exist() throws IOException {
        Set<String> keys = keys();
        Set<String> sections = keys.stream()
                .flatMap(key -> Stream.of(key.split("\\.", -1)).limit(key.split("\\.", -1).length - 1))
                .filter(part -> !part.equals("NAME"))
                .collect(Collectors.toCollection(TreeSet::new));
        List<Path> code = sources("java");
        Set<String> others = new TreeSet<>();
        for (Span span : spans()) {
            if (DOTTED.matcher(span.text()).matches() && isOther(span.text(), code)) {
                others.add(span.text());
            }
        }
        check(
                text -> DOTTED.matcher(text).matches()
                        && sections.contains(
                                text.substring(0, text.indexOf('.')).replace("[]", ""))
                        && !others.contains(text),
                text -> keys.stream().anyMatch(key -> ("." + key + ".").contains("." + text.replace("[]", "") + ".")));
    }

    /** Files, packages, and values of the chart. */
    private static boolean isOther(String text, List<Path> code) throws IOException {
        boolean file = text.matches(".*\\.(json|yaml|md|py|pem|proto|java|args)");
        String folder = "/" + text.replace('.', '/') + "/";
        return file
                || code.stream().anyMatch(each -> each.toString().contains(folder))
                || !values().at("/" + text.replace('.', '/')).isMissingNode();
    }

    private static JsonNode values() throws IOException {
        return new YAMLMapper()
                .readTree(MarkdownPage.ROOT
                        .resolve("deploy/helm/isthmus/values.yaml")
                        .toFile());
    }

    /** Keys written as in a file, such as {@code limits: max_tensors} or {@code retry: {retries: 0}}. */
    @Test
    void shownSections_haveTheirKeys() throws IOException {
        Set<String> keys = keys();
        check(
                text -> text.matches("[a-z_0-9]+: .*")
                        && !text.contains("…")
                        && keys.stream()
                                .anyMatch(key -> key.contains("." + text.substring(0, text.indexOf(':')) + ".")
                                        || key.startsWith(text.substring(0, text.indexOf(':')) + ".")),
                text -> isShown(text, keys));
    }

    private static boolean isShown(String text, Set<String> keys) {
        // "answers: errors: generic" is short for a file of three lines.
        List<String> parts = new ArrayList<>(List.of(text.split(": (?=[a-z_0-9]+: )", -1)));
        String section = parts.size() > 1 ? parts.removeFirst() + "." : "";
        int colon = parts.getFirst().indexOf(": ");
        String key = section + parts.getFirst().substring(0, colon);
        JsonNode value;
        try {
            value = new YAMLMapper().readTree(parts.getFirst().substring(colon + 2));
        } catch (IOException e) {
            return false;
        }
        List<String> names = new ArrayList<>();
        value.fieldNames().forEachRemaining(names::add);
        if (names.isEmpty() && value.asText().matches("[a-z_]+") && !isKey(key, keys)) {
            names.add(value.asText());
        }
        return names.isEmpty() ? isKey(key, keys) : names.stream().allMatch(name -> isKey(key + "." + name, keys));
    }

    private static boolean isKey(String key, Set<String> keys) {
        return keys.stream()
                .anyMatch(each -> each.equals(key) || each.endsWith("." + key) || each.endsWith("." + key + "[]"));
    }

    /** All keys with their sections, as in {@code upstreams.NAME.retry.budget}. */
    private static Set<String> keys() throws IOException {
        Set<String> keys = new TreeSet<>();
        String section = "";
        boolean reference = false;
        for (String line : Files.readAllLines(MarkdownPage.ROOT.resolve("docs/reference/configuration.md"))) {
            reference |= line.equals("## Reference");
            Matcher heading = HEADING.matcher(line);
            Matcher row = ROW.matcher(line);
            if (heading.matches()) {
                section = heading.group(1).replace("[]", "") + ".";
            } else if (reference && row.matches()) {
                keys.add(section + row.group(1));
            }
        }
        return keys;
    }

    /** Other words with an underscore, such as fields of JSON and reasons, are words of the code. */
    @Test
    void words_areInTheCode() throws IOException {
        Set<String> words = new TreeSet<>(FOREIGN);
        Pattern word = Pattern.compile("[A-Za-z0-9_]+");
        Pattern hump = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");
        for (Path file : sources("java|js|json|yaml|yml|proto|py|sh|xml|html|tpl|pbtxt|patch|service")) {
            word.matcher(Files.readString(file, StandardCharsets.ISO_8859_1))
                    .results()
                    .forEach(each -> {
                        words.add(each.group().toLowerCase(Locale.ROOT));
                        words.add(hump.matcher(each.group()).replaceAll("_").toLowerCase(Locale.ROOT));
                    });
        }
        // Generated, with the metrics of the JVM and the process.
        word.matcher(Files.readString(MarkdownPage.ROOT.resolve("docs/reference/metrics.md")))
                .results()
                .forEach(each -> words.add(each.group()));
        check(
                text -> WORD.matcher(text).matches() && !text.startsWith("isthmus_"),
                text -> words.contains(text)
                        || words.contains(text.replaceFirst("_base64$", ""))
                        || words.contains(text + "_sum"));
    }
}

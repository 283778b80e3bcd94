package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.flow.MonitoredGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rules, alerts and dashboards of {@code deploy} with Debian's Prometheus, which scrapes a gateway under load. */
class PrometheusTest {
    private static final Path DEPLOY = Path.of(System.getProperty("isthmus.root", ".."))
            .toAbsolutePath()
            .normalize()
            .resolve("deploy");
    private static final Path RULES = DEPLOY.resolve("prometheus");
    private static final Pattern METRIC = Pattern.compile("\\b(?:\\w+:)?(?:isthmus|process|jvm)_[a-z0-9_]+(?::\\w+)?");
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    @TempDir
    Path folder;

    @Test
    void rules_passTheirTests() throws Exception {
        for (String test : List.of("rules_test.yml", "alerts_test.yml", "objectives_test.yml")) {
            assertThat(promtool("test", "rules", RULES.resolve(test).toString()).complaint())
                    .isEmpty();
        }
        assertThat(promtool("check", "config", RULES.resolve("prometheus.yml").toString())
                        .complaint())
                .isEmpty();
    }

    @Test
    void eachAlert_isTested_andHasAnEntryInTheRunbook() throws IOException {
        Set<String> alerts = found("alert: (\\w+)", RULES.resolve("alerts.yml"));
        assertThat(found("alertname: (\\w+)", RULES.resolve("alerts_test.yml"))).isEqualTo(alerts);
        assertThat(found("(?m)^## (Isthmus\\w+)", DEPLOY.resolveSibling("docs/reference/runbook.md")))
                .isEqualTo(alerts);
        assertThat(found("runbook.md#(\\w+)", RULES.resolve("alerts.yml")))
                .isEqualTo(alerts.stream().map(String::toLowerCase).collect(Collectors.toCollection(TreeSet::new)));
    }

    @Test
    void noPanelIsEmpty() throws Exception {
        try (MonitoredGateway gateway = MonitoredGateway.start(folder);
                PrometheusServer prometheus = PrometheusServer.start(folder, RULES, gateway.admin())) {
            await().alias("Prometheus is ready").atMost(PATIENCE).until(prometheus::ready);
            Map<String, String> left = queries();
            assertThat(left).hasSizeGreaterThan(100);
            // The metrics of collections begin with the first one.
            System.gc();
            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).untilAsserted(() -> {
                gateway.load(2);
                assertThat(prometheus.scrapeError()).isEmpty();
                removeFound(left, prometheus);
                assertThat(left).isEmpty();
            });
            assertThat(prometheus.rules())
                    .isNotEmpty()
                    .allSatisfy(rule -> assertThat(rule.path("lastError").asText())
                            .as(rule.path("name").asText())
                            .isEmpty());
        }
    }

    private static void removeFound(Map<String, String> left, PrometheusServer prometheus)
            throws IOException, InterruptedException {
        for (String query : List.copyOf(left.keySet())) {
            if (prometheus.hasNumbers(query)) {
                left.remove(query);
            }
        }
    }

    /** All queries of dashboards, and all metrics that rules use, with where they are from. */
    private static Map<String, String> queries() throws IOException {
        Map<String, String> queries = new TreeMap<>();
        for (Path dashboard : dashboards()) {
            JsonNode json = new ObjectMapper().readTree(dashboard.toFile());
            String name = dashboard.getFileName().toString();
            for (JsonNode panel : json.path("panels")) {
                panel.path("targets")
                        .forEach(target -> queries.put(
                                query(target.path("expr").asText()),
                                name + ": " + panel.path("title").asText()));
            }
            json.path("templating").path("list").findValues("query").stream()
                    .filter(JsonNode::isTextual)
                    .map(JsonNode::asText)
                    .filter(text -> text.startsWith("label_values("))
                    .forEach(text ->
                            queries.put(query(text.substring("label_values(".length(), text.lastIndexOf(','))), name));
        }
        for (String file : List.of("rules.yml", "alerts.yml")) {
            found("(?m)^ *expr: (.*)$", RULES.resolve(file))
                    .forEach(expression -> METRIC.matcher(expression)
                            .results()
                            .forEach(metric -> queries.put("count(" + metric.group() + ")", file)));
            found("record: (\\S+)", RULES.resolve(file)).forEach(name -> queries.put(name, file));
        }
        return queries;
    }

    /** A dashboard's query with all values of its variables. */
    private static String query(String text) {
        return text.replace("$__rate_interval", "10s").replaceAll("\\$\\w+", ".*");
    }

    private static List<Path> dashboards() throws IOException {
        try (Stream<Path> files = Files.list(DEPLOY.resolve("grafana"))) {
            return files.filter(each -> each.toString().endsWith(".json")).toList();
        }
    }

    private static Set<String> found(String pattern, Path file) throws IOException {
        return Pattern.compile(pattern)
                .matcher(Files.readString(file))
                .results()
                .map(result -> result.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Script.Outcome promtool(String... arguments) throws Exception {
        return Script.run(
                Map.of(),
                Stream.concat(Stream.of(PrometheusServer.program("promtool").toString()), Stream.of(arguments))
                        .toList());
    }
}

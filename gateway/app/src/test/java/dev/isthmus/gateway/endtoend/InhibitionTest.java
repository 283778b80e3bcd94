package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The inhibit rules for Alertmanager, with the labels that the alerts have in their own tests. */
class InhibitionTest {
    private static final Path RULES =
            Path.of(System.getProperty("isthmus.root", "..")).resolve("deploy/prometheus");
    private static final Pattern MATCHER = Pattern.compile("alertname=~?\"(\\w+(?:\\|\\w+)*)\"");

    private record Inhibition(String sources, String targets, List<String> equal) {
        boolean applies(Map<String, String> source, Map<String, String> target) {
            return name(source).matches(sources)
                    && name(target).matches(targets)
                    && equal.stream()
                            .allMatch(label -> source.getOrDefault(label, "").equals(target.getOrDefault(label, "")));
        }
    }

    private static String name(Map<String, String> alert) {
        return alert.getOrDefault("alertname", "");
    }

    private static JsonNode yaml(String file) throws IOException {
        return new YAMLMapper().readTree(RULES.resolve(file).toFile());
    }

    private static String names(JsonNode matchers) {
        assertThat(matchers).hasSize(1);
        Matcher matcher = MATCHER.matcher(matchers.path(0).asText());
        assertThat(matcher.matches()).as(matchers.toString()).isTrue();
        return matcher.group(1);
    }

    private static List<Inhibition> inhibitions() throws IOException {
        List<Inhibition> all = new ArrayList<>();
        for (JsonNode rule : yaml("alertmanager.yml").path("inhibit_rules")) {
            List<String> equal = new ArrayList<>();
            rule.path("equal").forEach(label -> equal.add(label.asText()));
            all.add(new Inhibition(names(rule.path("source_matchers")), names(rule.path("target_matchers")), equal));
        }
        return all;
    }

    /** An alert that fires, by its name: its labels. */
    private static Map<String, Map<String, String>> alerts() throws IOException {
        Map<String, Map<String, String>> alerts = new TreeMap<>();
        for (JsonNode test : yaml("alerts_test.yml").path("tests")) {
            for (JsonNode rule : test.path("alert_rule_test")) {
                JsonNode expected = rule.path("exp_alerts").path(0).path("exp_labels");
                if (expected.isObject()) {
                    Map<String, String> labels = new HashMap<>();
                    expected.properties()
                            .forEach(label ->
                                    labels.put(label.getKey(), label.getValue().asText()));
                    labels.put("alertname", rule.path("alertname").asText());
                    alerts.put(name(labels), labels);
                }
            }
        }
        return alerts;
    }

    private static List<String> notified(String... firing) throws IOException {
        Map<String, Map<String, String>> alerts = alerts();
        List<Inhibition> inhibitions = inhibitions();
        assertThat(alerts).containsKeys(firing);
        return List.of(firing).stream()
                .filter(each -> List.of(firing).stream()
                        .noneMatch(source -> inhibitions.stream()
                                .anyMatch(rule -> rule.applies(
                                        alerts.getOrDefault(source, Map.of()), alerts.getOrDefault(each, Map.of())))))
                .toList();
    }

    @Test
    void rules_nameAlerts_thatHaveTheirLabels() throws IOException {
        Map<String, Map<String, String>> alerts = alerts();
        for (Inhibition rule : inhibitions()) {
            for (String name : new TreeSet<>(List.of((rule.sources() + "|" + rule.targets()).split("\\|", -1)))) {
                assertThat(alerts).containsKey(name);
                assertThat(alerts.getOrDefault(name, Map.of()))
                        .containsKeys(rule.equal().toArray(String[]::new));
            }
        }
    }

    @Test
    void errorBudget_thatIsUsedUpFast_isOneAlert() throws IOException {
        assertThat(notified("IsthmusBudgetBurnsFast", "IsthmusBudgetBurns", "IsthmusBudgetBurnsSlowly"))
                .containsExactly("IsthmusBudgetBurnsFast");
    }

    @Test
    void deadServer_amongOthers_isOneAlert() throws IOException {
        assertThat(notified(
                        "IsthmusServerDown",
                        "IsthmusServerEjected",
                        "IsthmusServerErrors",
                        "IsthmusConnectionsFail",
                        "IsthmusConnectionsWaiting",
                        "IsthmusRetryBudgetExhausted"))
                .containsExactly("IsthmusServerDown");
    }

    @Test
    void deadServer_thatIsTheOnlyOne_isOneAlertForItsUpstream_andOneForItsModel() throws IOException {
        assertThat(notified(
                        "IsthmusUpstreamWithoutServers",
                        "IsthmusModelNotReady",
                        "IsthmusServerDown",
                        "IsthmusConnectionsFail",
                        "IsthmusErrors",
                        "IsthmusNotReady",
                        "IsthmusBreakerOpen"))
                .containsExactly("IsthmusUpstreamWithoutServers", "IsthmusModelNotReady");
    }

    @Test
    void independentAlerts_areNotified() throws IOException {
        assertThat(notified("IsthmusServerDown", "IsthmusErrors", "IsthmusModelDrift", "IsthmusRampRolledBack"))
                .containsExactly("IsthmusServerDown", "IsthmusErrors", "IsthmusModelDrift", "IsthmusRampRolledBack");
    }
}

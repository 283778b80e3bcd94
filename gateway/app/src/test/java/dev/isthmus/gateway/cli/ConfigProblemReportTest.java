package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.cli.ValidateCommand.ConfigProblemReport;
import dev.isthmus.gateway.settings.ConfigProblem;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ConfigProblemReportTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path FOLDER = Path.of("/repository");
    private static final ConfigProblem TYPO = new ConfigProblem("config/a b:c.yaml", 3, 5, "100%: unknown\nkey 'é'");
    private static final ConfigProblem ELSEWHERE = new ConfigProblem("/etc/isthmus.yaml", 1, 1, "the file is empty");
    private static final ConfigProblem WHOLE = new ConfigProblem("/repository/isthmus.yaml", 0, 0, "cannot be read");
    private static final ConfigProblem NOWHERE = new ConfigProblem("", 0, 0, "no file");
    private static final ConfigProblemReport REPORT =
            new ConfigProblemReport(FOLDER, List.of(TYPO, ELSEWHERE, WHOLE, NOWHERE, TYPO));

    /** What section 3 of the specification requires of what is there. */
    @Test
    void sarif_isOneOfVersion210() throws IOException {
        JsonNode log = JSON.readTree(REPORT.sarif());
        assertThat(log.path("version").asText()).isEqualTo("2.1.0");
        assertThat(URI.create(log.path("$schema").asText())).hasScheme("https");
        assertThat(log.path("runs")).hasSize(1);
        JsonNode run = log.path("runs").path(0);
        JsonNode driver = run.path("tool").path("driver");
        assertThat(driver.path("name").asText()).isEqualTo("isthmus");
        assertThat(driver.path("version").asText()).isNotEmpty();
        assertThat(run.path("columnKind").asText()).isEqualTo("unicodeCodePoints");
        assertThat(run.path("results")).hasSize(5);
        for (JsonNode result : run.path("results")) {
            JsonNode rule = driver.path("rules").path(result.path("ruleIndex").asInt(-1));
            assertThat(result.path("ruleId")).isEqualTo(rule.path("id"));
            assertThat(rule.path("shortDescription").path("text").asText()).isNotEmpty();
            assertThat(result.path("level").asText()).isIn("none", "note", "warning", "error");
            assertThat(result.path("message").path("text").asText()).isNotEmpty();
            for (JsonNode location : result.path("locations")) {
                JsonNode place = location.path("physicalLocation");
                URI uri = URI.create(place.path("artifactLocation").path("uri").asText());
                assertThat(uri.getScheme()).isIn(null, "file");
                if (place.has("region")) {
                    assertThat(place.path("region").path("startLine").asInt()).isPositive();
                    assertThat(place.path("region").path("startColumn").asInt()).isPositive();
                }
            }
        }
    }

    @Test
    void sarif_hasTheirPlaces() throws IOException {
        JsonNode results = JSON.readTree(REPORT.sarif()).path("runs").path(0).path("results");
        assertThat(results.findValuesAsText("uri"))
                .containsExactly(
                        "config/a%20b:c.yaml", "file:///etc/isthmus.yaml", "isthmus.yaml", "config/a%20b:c.yaml");
        JsonNode region = results.path(0)
                .path("locations")
                .path(0)
                .path("physicalLocation")
                .path("region");
        assertThat(region.path("startLine").asInt()).isEqualTo(3);
        assertThat(region.path("startColumn").asInt()).isEqualTo(5);
        assertThat(results.path(3).path("locations")).isEmpty();
    }

    @Test
    void commandsOfGithub_areALineEach_andEscaped() {
        assertThat(REPORT.github().lines())
                .containsExactly(
                        "::error file=config/a b%3Ac.yaml,line=3,col=5,title=isthmus validate::100%25: unknown%0Akey 'é'",
                        "::error file=/etc/isthmus.yaml,line=1,col=1,title=isthmus validate::the file is empty",
                        "::error file=isthmus.yaml,title=isthmus validate::cannot be read",
                        "::error title=isthmus validate::no file",
                        "::error file=config/a b%3Ac.yaml,line=3,col=5,title=isthmus validate::100%25: unknown%0Akey 'é'");
    }

    @Test
    void reportOfGitlab_hasWhatItRequires() throws IOException {
        JsonNode issues = JSON.readTree(REPORT.gitlab());
        assertThat(issues).hasSize(5);
        Set<String> fingerprints = new HashSet<>();
        for (JsonNode issue : issues) {
            assertThat(issue.path("description").asText()).isNotEmpty();
            assertThat(issue.path("check_name").asText()).isNotEmpty();
            assertThat(issue.path("severity").asText()).isIn("info", "minor", "major", "critical", "blocker");
            assertThat(issue.path("location").path("lines").path("begin").asInt())
                    .isPositive();
            fingerprints.add(issue.path("fingerprint").asText());
        }
        assertThat(fingerprints).hasSize(5);
        assertThat(issues.path(0).path("location").path("path").asText()).isEqualTo("config/a b:c.yaml");
    }

    @Test
    void problemThatMoves_isTheSameForGitlab() throws IOException {
        ConfigProblem moved = new ConfigProblem(TYPO.file(), 9, 1, TYPO.message());
        JsonNode after = JSON.readTree(new ConfigProblemReport(FOLDER, List.of(moved)).gitlab());
        assertThat(after.path(0).path("fingerprint"))
                .isEqualTo(JSON.readTree(REPORT.gitlab()).path(0).path("fingerprint"));
    }
}

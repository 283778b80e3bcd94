package dev.isthmus.gateway.problems;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.console.TrafficHistory;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProblemReportTest {
    private static final Instant START = Instant.parse("2026-01-10T12:00:00Z");

    private final ProcessMetrics metrics = new ProcessMetrics("test", "test");
    private final Map<String, List<String>> drift = new TreeMap<>();
    private Instant time = START;
    private final ProblemReport report = new ProblemReport(
            new TrafficHistory(
                    metrics.registry(), GatewayConfig::embedded, () -> 0, System::nanoTime, InstantSource.system()),
            () -> new GatewaySnapshot(
                    GatewayConfig.embedded(),
                    null,
                    List.of(),
                    Map.of(),
                    Map.copyOf(drift),
                    List.of(),
                    null,
                    Map.of(),
                    Set.of(),
                    PeerFindings.NONE),
            () -> time);

    @AfterEach
    void close() {
        metrics.close();
    }

    private void searchAfter(long seconds) {
        time = time.plusSeconds(seconds);
        report.search();
    }

    @SuppressWarnings("unchecked")
    private List<Map<String, Object>> problems() {
        return ((List<GatewayProblem>) report.document().getOrDefault("problems", List.of()))
                .stream().<Map<String, Object>>map(AdminResponse::members).toList();
    }

    @Test
    void gatewayWithoutProblems_hasAnEmptyList() {
        searchAfter(5);
        assertThat(problems()).isEmpty();
        assertThat(report.document()).containsEntry("all", 0);
    }

    @Test
    void problem_isKnownSinceItWasFirstFound() {
        searchAfter(5);
        drift.put("score", List.of("a"));
        searchAfter(5);
        drift.put("score", List.of("a", "b"));
        searchAfter(60);
        assertThat(problems().getFirst())
                .containsEntry("since", START.plusSeconds(10).toString())
                .containsEntry("kind", "drift")
                .containsEntry("severity", "warning");
    }

    @Test
    void problemThatReturns_beginsAgain() {
        drift.put("score", List.of("a"));
        searchAfter(5);
        drift.clear();
        searchAfter(5);
        drift.put("score", List.of("a"));
        searchAfter(5);
        assertThat(problems().getFirst())
                .containsEntry("since", START.plusSeconds(15).toString());
    }

    @Test
    void thousandsOfProblems_areCutToTheWorst() {
        for (int i = 0; i < 5_000; i++) {
            drift.put("model-" + i, List.of("a"));
        }
        searchAfter(5);
        assertThat(problems()).hasSize(ProblemReport.MOST);
        assertThat(report.document()).containsEntry("all", 5_000);
    }
}

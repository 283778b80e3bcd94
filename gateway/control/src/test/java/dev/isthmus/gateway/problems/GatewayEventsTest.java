package dev.isthmus.gateway.problems;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.problems.ProblemReport.GatewayEvents;
import dev.isthmus.gateway.problems.ProblemReport.GatewayEvents.GatewayEvent;
import dev.isthmus.gateway.problems.ProblemReport.GatewayEvents.GatewayEvent.EventKind;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class GatewayEventsTest {
    private static final Instant START = Instant.parse("2026-01-10T12:00:00Z");

    private final GatewayEvents events = new GatewayEvents();
    private @Nullable LastReload reload;
    private List<RampReport> ramps = List.of();
    private List<ReplicaStatus> servers = List.of();

    private void observe(long seconds) {
        events.observe(
                new GatewaySnapshot(
                        GatewayConfig.embedded(),
                        null,
                        servers,
                        Map.of(),
                        Map.of(),
                        ramps,
                        reload,
                        Map.of(),
                        Set.of(),
                        PeerFindings.NONE),
                START.plusSeconds(seconds));
    }

    private void server(boolean checked, String reason) {
        servers = List.of(new ReplicaStatus(
                "u", "a:1", new FakeUpstream(), checked, reason.isEmpty(), reason, Map.of(), false, false));
    }

    private void ramp(RampState state, double share, long seconds) {
        ramps = List.of(new RampReport(
                "score",
                "next",
                state,
                share,
                0,
                List.of(0.1, 0.5),
                0,
                Duration.ofMinutes(1),
                0,
                0,
                0,
                JsonNodeFactory.instance.objectNode(),
                "",
                "",
                START.plusSeconds(seconds)));
    }

    private List<String> texts() {
        return events.last().stream().map(GatewayEvent::text).toList();
    }

    @Test
    void firstSnapshot_isNoEvent() {
        server(true, "gone");
        ramp(RampState.RUNNING, 0.1, 0);
        observe(0);
        assertThat(texts()).isEmpty();
    }

    @Test
    void serverThatIsLostAndReturns_isAnEventEachTime() {
        server(true, "");
        observe(0);
        server(true, "gone");
        observe(5);
        observe(10);
        server(true, "");
        observe(15);
        assertThat(texts())
                .containsExactly("server a:1 of upstream 'u' is not ready", "server a:1 of upstream 'u' is ready");
        assertThat(events.last().getFirst().time()).isEqualTo(START.plusSeconds(5));
    }

    @Test
    void serverThatIsCheckedForTheFirstTime_isNoEvent() {
        server(false, "");
        observe(0);
        server(true, "gone");
        observe(5);
        assertThat(texts()).isEmpty();
    }

    @Test
    void stepsAndRollbacksOfRamps_areEvents() {
        ramp(RampState.RUNNING, 0.1, 0);
        observe(0);
        ramp(RampState.RUNNING, 0.5, 60);
        observe(61);
        ramp(RampState.ROLLED_BACK, 0, 70);
        observe(71);
        assertThat(events.last())
                .extracting(GatewayEvent::kind)
                .containsExactly(EventKind.RAMP_STEP, EventKind.ROLLBACK);
        assertThat(texts()).containsExactly("ramp of model 'score' at 50 %", "ramp of model 'score' rolled back");
    }

    @Test
    void rampThatIsRolledBackBeforeTheFirstSnapshot_isAnEventOfItsTime() {
        ramp(RampState.ROLLED_BACK, 0, 2);
        observe(5);
        observe(10);
        assertThat(texts()).containsExactly("ramp of model 'score' rolled back");
        assertThat(events.last().getFirst().time()).isEqualTo(START.plusSeconds(2));
    }

    @Test
    void reload_isOneEvent() {
        observe(0);
        reload = new LastReload(START.plusSeconds(3), new ReloadResult.Rejected(true, List.of("no")));
        observe(5);
        observe(10);
        assertThat(texts()).containsExactly("configuration rejected");
    }

    @Test
    void events_areBounded() {
        for (int i = 0; i < 3 * GatewayEvents.MOST; i++) {
            server(true, i % 2 == 0 ? "" : "gone");
            observe(5L * i);
        }
        assertThat(events.last()).hasSize(GatewayEvents.MOST);
    }
}

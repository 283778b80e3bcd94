package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReplicaSelectionTest {
    private final ReplicaFixture pool = ReplicaFixture.of(3);
    private final Replica a = pool.replicas.get(0);
    private final Replica b = pool.replicas.get(1);
    private final Replica c = pool.replicas.get(2);

    private List<Replica> candidates(ModelRef model, Collection<Replica> tried) {
        return pool.candidates(ReplicaFixture.call(Call.NO_AFFINITY), model, tried);
    }

    private static void ready(Replica replica, ModelRef model, boolean ready) {
        replica.readiness(replica.readiness().with(Map.of(model, ready)));
    }

    @Test
    void uncheckedServers_areAllUsable() {
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
    }

    @Test
    void serverThatIsNotReady_isLeftOut() {
        b.readiness(ReplicaReadiness.UNKNOWN.with(ReplicaReadiness.ServerState.NOT_READY, "down"));

        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, c);
    }

    @Test
    void modelNotReadyOnOneServer_isRequestedOnTheOthers() {
        ready(a, ReplicaFixture.MODEL, false);

        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(b, c);
        assertThat(candidates(ModelRef.of("another"), List.of())).containsExactly(a, b, c);
    }

    @Test
    void modelReadyNowhere_isRequestedAnywhere() {
        pool.replicas.forEach(replica -> ready(replica, ReplicaFixture.MODEL, false));

        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
    }

    @Test
    void versionThatIsNotChecked_isAsItsModel() {
        ready(a, ReplicaFixture.MODEL, false);

        assertThat(candidates(new ModelRef("m", "3"), List.of())).containsExactly(b, c);
    }

    @Test
    void onlyServerOfAModel_isCalledThoughItIsNotReady() {
        ready(a, ReplicaFixture.MODEL, false);
        ready(b, ReplicaFixture.MODEL, false);
        c.readiness(ReplicaReadiness.UNKNOWN.with(ReplicaReadiness.ServerState.NOT_READY, "down"));

        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(c);
    }

    @Test
    void serversThatChange_areSeenByTheNextCall() {
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
        b.readiness(ReplicaReadiness.UNKNOWN.with(ReplicaReadiness.ServerState.NOT_READY, "down"));
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, c);
        ready(a, ReplicaFixture.MODEL, false);
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(c);
        b.readiness(ReplicaReadiness.UNKNOWN);
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(b, c);
        ready(a, ReplicaFixture.MODEL, true);
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
        Replica d = pool.add("10.0.0.4:8001");
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c, d);
    }

    @Test
    void ejectedServer_isLeftOutUntilItsTimeIsOver() {
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
        ReplicaFixture.fail(a, DefaultValues.of(Outliers.class).consecutiveFailures());
        pool.pass(DefaultValues.of(Outliers.class).ejection().minusNanos(1));
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(b, c);
        pool.pass(Duration.ofNanos(1).plus(ReplicaFixture.WINDOW));
        assertThat(candidates(ReplicaFixture.MODEL, List.of())).containsExactly(a, b, c);
    }

    @Test
    void triedServers_arePassedOver() {
        assertThat(candidates(ReplicaFixture.MODEL, List.of(a, b))).containsExactly(c);
    }

    @Test
    void allServersTried_areTriedAgain() {
        assertThat(candidates(ReplicaFixture.MODEL, List.of(a, b, c))).containsExactly(a, b, c);
    }

    @Test
    void usableServersTried_oneThatIsNotReadyIsNext() {
        b.readiness(ReplicaReadiness.UNKNOWN.with(ReplicaReadiness.ServerState.NOT_READY, "down"));

        assertThat(candidates(ReplicaFixture.MODEL, List.of(a, c))).containsExactly(b);
    }
}

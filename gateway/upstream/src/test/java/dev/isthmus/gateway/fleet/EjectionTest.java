package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EjectionTest {
    private static final Duration QUICK = Duration.ofMillis(1);
    private static final Duration EJECTION = Duration.ofSeconds(5);

    private static boolean ejected(ReplicaFixture pool, Replica replica) {
        return replica.ejection().ejected(pool.now());
    }

    private static void respond(Replica replica, int times) {
        for (int i = 0; i < times; i++) {
            ReplicaFixture.call(replica, CallOutcome.ANSWERED, QUICK);
        }
    }

    @Test
    void failuresInARow_eject() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);

        ReplicaFixture.fail(failing, 4);
        assertThat(ejected(pool, failing)).isFalse();
        ReplicaFixture.fail(failing, 1);
        assertThat(ejected(pool, failing)).isTrue();
        assertThat(pool.picks(BalancePolicy.ROUND_ROBIN, 100)).containsEntry(failing, 0);
    }

    @Test
    void responseAmongFailures_startsTheCountAgain() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);

        ReplicaFixture.fail(failing, 4);
        respond(failing, 1);
        ReplicaFixture.fail(failing, 4);

        assertThat(ejected(pool, failing)).isFalse();
    }

    @Test
    void cancelledCalls_sayNothing() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);

        ReplicaFixture.fail(failing, 4);
        ReplicaFixture.call(failing, CallOutcome.CANCELLED, QUICK);
        ReplicaFixture.fail(failing, 1);

        assertThat(ejected(pool, failing)).isTrue();
    }

    @Test
    void ejection_endsByTime() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);
        ReplicaFixture.fail(failing, 5);

        pool.pass(EJECTION.minusNanos(1));
        assertThat(ejected(pool, failing)).isTrue();
        pool.pass(Duration.ofNanos(1));
        assertThat(ejected(pool, failing)).isFalse();
    }

    @Test
    void furtherEjections_lastLongerUpToTenTimes() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);

        for (int time = 1; time <= 12; time++) {
            ReplicaFixture.fail(failing, 5);
            assertThat(failing.ejection().until() - pool.now())
                    .isEqualTo(EJECTION.multipliedBy(Math.min(time, 10)).toNanos());
            pool.pass(EJECTION.multipliedBy(10));
        }
        assertThat(failing.ejection().count()).isEqualTo(12);
    }

    @Test
    void responsesInARow_makeUpForAnEjection() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);
        ReplicaFixture.fail(failing, 5);
        pool.pass(EJECTION);
        respond(failing, 5);

        ReplicaFixture.fail(failing, 5);

        assertThat(failing.ejection().until() - pool.now()).isEqualTo(EJECTION.toNanos());
    }

    @Test
    void responsesInARow_endTheEjection() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica failing = pool.replicas.get(0);
        ReplicaFixture.fail(failing, 5);

        respond(failing, 5);

        assertThat(ejected(pool, failing)).isFalse();
    }

    @Test
    void onlyServer_isNeverEjected() {
        ReplicaFixture pool = ReplicaFixture.of(1);

        ReplicaFixture.fail(pool.replicas.get(0), 100);

        assertThat(ejected(pool, pool.replicas.get(0))).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "3, 1", "4, 2", "10, 5"})
    void ejections_stopAtTheShare(int servers, int most) {
        ReplicaFixture pool = ReplicaFixture.of(servers);

        pool.replicas.forEach(replica -> ReplicaFixture.fail(replica, 5));

        assertThat(pool.replicas.stream().filter(replica -> ejected(pool, replica)))
                .hasSize(most);
    }

    @Test
    void noLimit_nobodyIsEjected() {
        ReplicaFixture pool = new ReplicaFixture(new Outliers(0, EJECTION, 1, 0.5, DefaultValues.of(ErrorRate.class)));
        pool.add("a:1");
        pool.add("b:1");

        ReplicaFixture.fail(pool.replicas.get(0), 1000);

        assertThat(ejected(pool, pool.replicas.get(0))).isFalse();
    }

    @Test
    void tooFewServersLeft_allAreUsed() {
        ReplicaFixture pool = new ReplicaFixture(new Outliers(5, EJECTION, 1, 0.5, DefaultValues.of(ErrorRate.class)));
        for (int i = 0; i < 4; i++) {
            pool.add("10.0.0." + i + ":8001");
        }
        ReplicaFixture.fail(pool.replicas.get(0), 5);
        ReplicaFixture.fail(pool.replicas.get(1), 5);
        assertThat(pool.picks(BalancePolicy.ROUND_ROBIN, 400))
                .as("half are left")
                .containsEntry(pool.replicas.get(0), 0);

        pool.replicas.get(2).readiness(ReplicaReadiness.UNKNOWN.with(ReplicaReadiness.ServerState.NOT_READY, "gone"));

        assertThat(pool.picks(BalancePolicy.ROUND_ROBIN, 400).values())
                .allSatisfy(picks -> assertThat(picks).isPositive());
    }

    @Test
    void serverThatComesBack_isUsedAtOnce() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica back = pool.replicas.get(0);
        ReplicaFixture.fail(back, 5);

        back.recovered();

        assertThat(ejected(pool, back)).isFalse();
        assertThat(pool.picks(BalancePolicy.ROUND_ROBIN, 1000).get(back)).isPositive();
    }
}

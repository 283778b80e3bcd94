package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The slow start window is 10 s. */
class SlowStartTest {
    private static final int PICKS = 40_000;

    private static double share(ReplicaFixture pool, Replica replica, BalancePolicy policy) {
        return pool.picks(policy, PICKS).getOrDefault(replica, 0) / (double) PICKS;
    }

    @ParameterizedTest
    @EnumSource(BalancePolicy.class)
    void serverThatJoins_beginsWithATenthOfItsShare(BalancePolicy policy) {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Replica joining = pool.join("10.0.0.9:8001");

        assertThat(share(pool, joining, policy)).isCloseTo(0.25 * 0.1, within(0.006));
    }

    @ParameterizedTest
    @EnumSource(BalancePolicy.class)
    void serverThatJoins_hasHalfItsShareAfterHalfTheTime(BalancePolicy policy) {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Replica joining = pool.join("10.0.0.9:8001");
        pool.pass(Duration.ofSeconds(5));

        assertThat(share(pool, joining, policy)).isCloseTo(0.25 * 0.5, within(0.01));
    }

    @ParameterizedTest
    @EnumSource(BalancePolicy.class)
    void serverThatJoined_hasItsShareAfterTheTime(BalancePolicy policy) {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Replica joined = pool.join("10.0.0.9:8001");
        pool.pass(Duration.ofSeconds(10));

        assertThat(share(pool, joined, policy)).isCloseTo(0.25, within(0.01));
    }

    @Test
    void allServersJoin_allAreUsed() {
        ReplicaFixture pool = ReplicaFixture.of(0);
        Replica one = pool.join("10.0.0.1:8001");
        Replica two = pool.join("10.0.0.2:8001");

        Map<Replica, Integer> picks = pool.picks(BalancePolicy.LEAST_REQUEST, PICKS);

        assertThat(picks.get(one)).isCloseTo(PICKS / 2, within(PICKS / 40));
        assertThat(picks.get(two)).isCloseTo(PICKS / 2, within(PICKS / 40));
    }

    @Test
    void affinities_moveOnceToTheServerThatJoins() {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Replica joining = pool.join("10.0.0.9:8001");
        pool.pass(Duration.ofSeconds(3));
        Map<Long, Replica> early = BalancerTest.homes(pool, 1, PICKS);
        pool.pass(Duration.ofSeconds(3));
        Map<Long, Replica> late = BalancerTest.homes(pool, 1, PICKS);

        assertThat(early.entrySet())
                .filteredOn(each -> each.getValue() == joining)
                .allSatisfy(each -> assertThat(late).contains(each))
                .hasSizeBetween(PICKS * 65 / 1000, PICKS * 85 / 1000);
        assertThat(late.values())
                .filteredOn(home -> home == joining)
                .hasSizeBetween(PICKS * 140 / 1000, PICKS * 160 / 1000);
    }

    @Test
    void serverThatWasEjected_comesBackSlowly() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica back = pool.replicas.get(0);
        ReplicaFixture.fail(back, 5);
        pool.pass(Duration.ofSeconds(5));

        assertThat(share(pool, back, BalancePolicy.ROUND_ROBIN)).isCloseTo(0.5 * 0.1, within(0.02));
        pool.pass(Duration.ofSeconds(10));
        assertThat(share(pool, back, BalancePolicy.ROUND_ROBIN)).isCloseTo(0.5, within(0.01));
    }

    @Test
    void serverWhoseEjectionEndsEarly_comesBackSlowly_fromThen() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica back = pool.replicas.get(0);
        ReplicaFixture.fail(back, 5);
        for (int i = 0; i < 5; i++) {
            ReplicaFixture.call(back, CallOutcome.ANSWERED, Duration.ofMillis(1));
        }

        assertThat(share(pool, back, BalancePolicy.ROUND_ROBIN)).isCloseTo(0.5 * 0.1, within(0.02));
        pool.pass(Duration.ofSeconds(10));
        assertThat(share(pool, back, BalancePolicy.ROUND_ROBIN)).isCloseTo(0.5, within(0.01));
    }
}

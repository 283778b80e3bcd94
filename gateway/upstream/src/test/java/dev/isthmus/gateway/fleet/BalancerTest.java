package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BalancerTest {
    private static final int PICKS = 40_000;

    @ParameterizedTest
    @EnumSource(BalancePolicy.class)
    void equalServers_getEqualShares(BalancePolicy policy) {
        ReplicaFixture pool = ReplicaFixture.of(4);

        assertThat(pool.picks(policy, PICKS).values())
                .allSatisfy(picks -> assertThat(picks).isCloseTo(PICKS / 4, Percentage.withPercentage(4)));
    }

    @Test
    void roundRobin_goesFromOneToTheNext() {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Balancer balancer = Balancer.of(BalancePolicy.ROUND_ROBIN, pool.random);
        Call call = ReplicaFixture.call(Call.NO_AFFINITY);

        for (int i = 0; i < 9; i++) {
            assertThat(pool.pick(balancer, call, List.of())).isSameAs(pool.replicas.get(i % 3));
        }
    }

    @Test
    void leastRequest_serverWithMostCallsUnderWay_getsNone() {
        ReplicaFixture pool = ReplicaFixture.of(3);
        pool.replicas.get(0).started();

        assertThat(pool.picks(BalancePolicy.LEAST_REQUEST, PICKS)).containsEntry(pool.replicas.get(0), 0);
    }

    @Test
    void leastRequest_busyServers_levelOut() {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Balancer balancer = Balancer.of(BalancePolicy.LEAST_REQUEST, pool.random);
        for (int i = 0; i < 60; i++) {
            pool.replicas.get(0).started();
        }

        for (int i = 0; i < 240; i++) {
            pool.pick(balancer, ReplicaFixture.call(Call.NO_AFFINITY), List.of())
                    .started();
        }

        assertThat(pool.replicas)
                .allSatisfy(replica -> assertThat(replica.load().inFlight()).isCloseTo(100, within(5)));
    }

    /** Its calls end at once, so that it always has the fewest; the other's take 50 ms of 1 ms each. */
    @ParameterizedTest
    @EnumSource(
            value = CallOutcome.class,
            names = {"ERROR", "UNAVAILABLE", "FAILED"})
    void leastRequest_serverThatFailsAtOnce_getsFewCalls(CallOutcome failure) {
        ReplicaFixture pool =
                new ReplicaFixture(new Outliers(0, Duration.ofSeconds(5), 0.5, 0.5, DefaultValues.of(ErrorRate.class)));
        Replica failing = pool.add("10.0.0.1:8001");
        Replica good = pool.add("10.0.0.2:8001");
        Balancer balancer = Balancer.of(BalancePolicy.LEAST_REQUEST, pool.random);
        Deque<Replica> inFlight = new ArrayDeque<>();
        int failed = 0;

        for (int i = 0; i < 10_000; i++) {
            pool.pass(Duration.ofMillis(1));
            if (inFlight.size() == 50) {
                inFlight.remove()
                        .ended(CallOutcome.ANSWERED, Duration.ofMillis(50).toNanos(), false);
            }
            if (pool.pick(balancer, ReplicaFixture.call(Call.NO_AFFINITY), List.of()) == failing) {
                ReplicaFixture.call(failing, failure, Duration.ofMillis(1));
                failed++;
            } else {
                good.started();
                inFlight.add(good);
            }
        }

        assertThat(failed).isLessThan(500);
    }

    @Test
    void leastRequest_errorsOfCallsThatOnlyOneServerCanGet_leaveItsShare() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        for (int i = 0; i < 100; i++) {
            pool.replicas.get(0).started();
            pool.replicas.get(0).ended(CallOutcome.ERROR, 1, true);
        }

        assertThat(pool.picks(BalancePolicy.LEAST_REQUEST, PICKS).get(pool.replicas.get(0)))
                .isCloseTo(PICKS / 2, Percentage.withPercentage(4));
    }

    @Test
    void peakEwma_slowerServer_getsCallsWhenTheOtherHasAsManyMore() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica slow = pool.replicas.get(0);
        Replica fast = pool.replicas.get(1);
        ReplicaFixture.call(slow, CallOutcome.ANSWERED, Duration.ofMillis(30));
        ReplicaFixture.call(fast, CallOutcome.ANSWERED, Duration.ofMillis(10));
        Balancer balancer = Balancer.of(BalancePolicy.PEAK_EWMA, pool.random);

        for (int i = 0; i < 200; i++) {
            pool.pick(balancer, ReplicaFixture.call(Call.NO_AFFINITY), List.of())
                    .started();
        }

        assertThat(fast.load().inFlight()).isCloseTo(150, within(2));
    }

    @Test
    void peakEwma_serverThatWasNeverCalled_getsOneCallFirst() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica known = pool.replicas.get(0);
        Replica unknown = pool.replicas.get(1);
        ReplicaFixture.call(known, CallOutcome.ANSWERED, Duration.ofMillis(10));

        assertThat(pool.picks(BalancePolicy.PEAK_EWMA, 100)).containsEntry(unknown, 100);
        unknown.started();
        assertThat(pool.picks(BalancePolicy.PEAK_EWMA, 100)).containsEntry(known, 100);
    }

    @Test
    void queueAware_serverWhereLessWaits_getsTheCalls() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica busy = pool.replicas.get(0);
        Replica idle = pool.replicas.get(1);
        busy.load().read(50, busy.load().sent(), pool.now());
        idle.load().read(20, idle.load().sent(), pool.now());
        Balancer balancer = Balancer.of(BalancePolicy.QUEUE_AWARE, pool.random);

        for (int i = 0; i < 40; i++) {
            pool.pick(balancer, ReplicaFixture.call(Call.NO_AFFINITY), List.of())
                    .started();
        }

        assertThat(idle.load().inFlight())
                .as("30 until both have 50, then half of the rest")
                .isBetween(34, 36);
    }

    @Test
    void queueAware_oldReading_goesByCallsUnderWay() {
        ReplicaFixture pool = ReplicaFixture.of(2);
        Replica said = pool.replicas.get(0);
        Replica busy = pool.replicas.get(1);
        said.load().read(50, 0, pool.now());
        busy.load().read(0, 0, pool.now());
        busy.started();
        pool.pass(Duration.ofSeconds(4));

        assertThat(pool.picks(BalancePolicy.QUEUE_AWARE, 100)).containsEntry(said, 100);
    }

    @ParameterizedTest
    @EnumSource(BalancePolicy.class)
    void callsOfOneAffinity_goToOneServer(BalancePolicy policy) {
        ReplicaFixture pool = ReplicaFixture.of(5);
        Balancer balancer = Balancer.of(policy, pool.random);
        Replica first = pool.pick(balancer, ReplicaFixture.call(4711), List.of());

        for (int i = 0; i < 100; i++) {
            first.started();
            assertThat(pool.pick(balancer, ReplicaFixture.call(4711), List.of()))
                    .isSameAs(first);
        }
    }

    @Test
    void affinities_spreadEvenly() {
        ReplicaFixture pool = ReplicaFixture.of(5);
        Map<Replica, Integer> picks = new HashMap<>();

        homes(pool, 1, PICKS).values().forEach(home -> picks.merge(home, 1, Integer::sum));

        assertThat(picks.values())
                .hasSize(5)
                .allSatisfy(count -> assertThat(count).isCloseTo(PICKS / 5, Percentage.withPercentage(4)));
    }

    @Test
    void affinities_serverThatGoes_movesOnlyItsOwn() {
        ReplicaFixture pool = ReplicaFixture.of(5);
        Map<Long, Replica> before = homes(pool, 1, PICKS);
        Replica gone = pool.replicas.remove(2);

        Map<Long, Replica> after = homes(pool, 1, PICKS);

        before.values().removeIf(home -> home == gone);
        assertThat(after).containsAllEntriesOf(before).doesNotContainValue(gone);
    }

    @Test
    void affinities_serverThatComes_takesOnlyItsShare() {
        ReplicaFixture pool = ReplicaFixture.of(4);
        Map<Long, Replica> before = homes(pool, 1, PICKS);
        Replica come = pool.add("10.0.0.99:8001");

        Map<Long, Replica> after = homes(pool, 1, PICKS);

        after.values().removeIf(home -> home == come);
        assertThat(before).containsAllEntriesOf(after);
        assertThat(PICKS - after.size()).isCloseTo(PICKS / 5, Percentage.withPercentage(4));
    }

    @Test
    void affinities_inAnotherOrderOfServers_areTheSame() {
        ReplicaFixture pool = ReplicaFixture.of(7);
        Map<Long, Replica> before = homes(pool, 1, 1000);
        Collections.reverse(pool.replicas);

        assertThat(homes(pool, 1, 1000)).isEqualTo(before);
    }

    @Test
    void affinity_ofTriedServer_goesToAnother() {
        ReplicaFixture pool = ReplicaFixture.of(3);
        Balancer balancer = Balancer.of(BalancePolicy.ROUND_ROBIN, pool.random);
        Replica home = pool.pick(balancer, ReplicaFixture.call(5), List.of());

        assertThat(pool.pick(balancer, ReplicaFixture.call(5), List.of(home))).isNotSameAs(home);
    }

    static Map<Long, Replica> homes(ReplicaFixture pool, long from, long to) {
        Balancer balancer = Balancer.of(BalancePolicy.CONSISTENT_HASH, pool.random);
        Map<Long, Replica> homes = new HashMap<>();
        for (long affinity = from; affinity <= to; affinity++) {
            homes.put(affinity, pool.pick(balancer, ReplicaFixture.call(affinity), List.of()));
        }
        return homes;
    }
}

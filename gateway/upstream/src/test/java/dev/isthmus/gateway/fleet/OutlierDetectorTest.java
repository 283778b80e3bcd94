package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.Ejection.OutlierDetector;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class OutlierDetectorTest {
    private static final Duration EJECTION = Duration.ofSeconds(5);
    private static final Duration QUICK = Duration.ofMillis(1);
    private static final ErrorRate BY_THRESHOLD = new ErrorRate(Duration.ofSeconds(10), 0.5, 0, 50, 2);
    private static final ErrorRate BY_DEVIATION = new ErrorRate(Duration.ofSeconds(10), 0, 1.9, 50, 2);

    private ReplicaFixture pool = new ReplicaFixture(DefaultValues.of(Outliers.class));
    private OutlierDetector detector = pool.detector(BY_THRESHOLD);

    @BeforeEach
    void twoServers() {
        servers(2, BY_THRESHOLD);
    }

    private void servers(int servers, ErrorRate rules) {
        pool = new ReplicaFixture(new Outliers(5, EJECTION, 0.5, 0.5, rules));
        for (int i = 0; i < servers; i++) {
            pool.add("10.0.0." + (i + 1) + ":8001");
        }
        detector = pool.detector(rules);
    }

    /** Errors among the responses, never several in a row. */
    private void calls(int server, int answered, int errors) {
        calls(server, answered, errors, CallOutcome.ERROR);
    }

    private void calls(int server, int answered, int failed, CallOutcome failure) {
        int all = answered + failed;
        for (int i = 0; i < all; i++) {
            boolean fails = (long) (i + 1) * failed / all > (long) i * failed / all;
            ReplicaFixture.call(pool.replicas.get(server), fails ? failure : CallOutcome.ANSWERED, QUICK);
        }
    }

    private boolean ejected(int server) {
        return pool.replicas.get(server).ejection().ejected(pool.now());
    }

    private List<Integer> ejected() {
        return IntStream.range(0, pool.replicas.size())
                .filter(this::ejected)
                .boxed()
                .toList();
    }

    private void interval() {
        detector.evaluate();
    }

    /** One client's mistakes may all go to one server, and be taken by it for its own. */
    @Test
    void errorsOfCallsThatCanOnlyGoToOneServer_doNotCount() {
        calls(0, 60, 0);
        calls(1, 100, 0);
        for (int i = 0; i < 1000; i++) {
            pool.replicas.get(0).started();
            pool.replicas.get(0).ended(CallOutcome.ERROR, 1, true);
        }
        interval();
        assertThat(ejected()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = CallOutcome.class,
            names = {"ERROR", "UNAVAILABLE", "FAILED"})
    void serverThatFailsMoreOftenThanOthers_isEjected(CallOutcome failure) {
        calls(0, 40, 60, failure);
        calls(1, 100, 0);
        assertThat(ejected()).isEmpty();
        interval();
        assertThat(ejected()).containsExactly(0);
        pool.pass(EJECTION);
        assertThat(ejected()).isEmpty();
    }

    @Test
    void errorsInARow_areLeftToTheInterval() {
        calls(0, 0, 49);
        calls(1, 49, 0);
        interval();
        assertThat(ejected()).isEmpty();
    }

    @Test
    void errorsThatAllServersShare_ejectNone() {
        calls(0, 30, 70);
        calls(1, 60, 40);
        interval();
        assertThat(ejected()).isEmpty();
    }

    @Test
    void cancelledCalls_sayNothing() {
        calls(0, 0, 100, CallOutcome.CANCELLED);
        calls(1, 100, 0);
        interval();
        assertThat(ejected()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"49, 100, 1", "50, 100, 50", "100, 49, 1"})
    void shareBelowTheThreshold_orTooFewCalls_doNotEject(int calls, int others, int answered) {
        calls(0, answered, calls - answered);
        calls(1, others, 0);
        interval();
        assertThat(ejected()).isEmpty();
    }

    @Test
    void callsOfEarlierIntervals_areForgotten() {
        calls(0, 40, 60);
        calls(1, 10, 0);
        interval();
        calls(0, 100, 0);
        calls(1, 100, 0);
        interval();
        assertThat(ejected()).isEmpty();
    }

    @Test
    void onlyTheAllowedShareIsEjected_theWorstFirst() {
        servers(4, BY_THRESHOLD);
        calls(0, 40, 60);
        calls(1, 20, 80);
        calls(2, 400, 0);
        calls(3, 400, 0);
        interval();
        assertThat(ejected()).containsExactly(0, 1);

        servers(3, BY_THRESHOLD);
        calls(0, 40, 60);
        calls(1, 20, 80);
        calls(2, 400, 0);
        interval();
        assertThat(ejected()).containsExactly(1);
    }

    @Test
    void successesDuringTheEjection_doNotEndIt() {
        calls(0, 40, 60);
        calls(1, 100, 0);
        interval();
        calls(0, 20, 0);
        assertThat(ejected()).containsExactly(0);
    }

    @Test
    void ejections_growUntilAnIntervalPasses() {
        calls(1, 100, 0);
        for (int time = 1; time <= 3; time++) {
            calls(0, 40, 60);
            calls(1, 100, 0);
            interval();
            assertThat(pool.replicas.get(0).ejection().until() - pool.now())
                    .isEqualTo(EJECTION.multipliedBy(time).toNanos());
            pool.pass(EJECTION.multipliedBy(time));
            // An interval without calls proves nothing.
            interval();
        }
        calls(0, 100, 0);
        calls(1, 100, 0);
        interval();
        calls(0, 40, 60);
        calls(1, 100, 0);
        interval();
        assertThat(pool.replicas.get(0).ejection().until() - pool.now())
                .isEqualTo(EJECTION.multipliedBy(3).toNanos());
    }

    @ParameterizedTest
    @CsvSource({"5, 20, true", "5, 4, false", "4, 20, false", "8, 8, true"})
    void serverFarFromTheMean_isEjected(int servers, int errors, boolean expected) {
        servers(servers, BY_DEVIATION);
        calls(0, 100 - errors, errors);
        for (int i = 1; i < servers; i++) {
            calls(i, 100, 0);
        }
        interval();
        assertThat(ejected(0)).isEqualTo(expected);
    }

    @Test
    void serverNearTheOthers_isNotEjected_howeverSmallTheDeviation() {
        servers(6, BY_DEVIATION);
        calls(0, 70, 30);
        for (int i = 1; i < 6; i++) {
            calls(i, 80, 20);
        }
        interval();
        assertThat(ejected()).isEmpty();
    }
}

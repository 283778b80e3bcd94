package dev.isthmus.gateway.adaptive;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.DefaultValues;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AdaptiveLimitTest {
    private static final AdaptiveConcurrency DEFAULT = DefaultValues.of(AdaptiveConcurrency.class);

    private static SimulatedServer server(int workers, int millis) {
        return new SimulatedServer(DEFAULT, workers, Duration.ofMillis(millis));
    }

    /** Under twice the load that the server can process. */
    private static void overload(SimulatedServer server, int seconds) {
        server.receive(server.capacity() * 2, Duration.ofSeconds(seconds));
    }

    /** It is busy, and not many more calls wait than are processed. */
    private static void assertFits(SimulatedServer server, int workers) {
        assertThat(server.limit.limit()).isBetween(workers, 2 * workers + 4);
    }

    @ParameterizedTest
    @CsvSource({"1, 10, 5", "4, 10, 5", "16, 10, 5", "64, 10, 5", "200, 5, 10", "8, 200, 10", "2, 500, 30"})
    void underOverload_theLimitFitsWithinSeconds(int workers, int millis, int seconds) {
        SimulatedServer server = server(workers, millis);

        overload(server, seconds);

        assertFits(server, workers);
        overload(server, 60);
        assertFits(server, workers);
        assertThat(server.served).isGreaterThan((int) (server.capacity() * 60 * 0.9));
    }

    @ParameterizedTest
    @CsvSource({"16, 10, 16, 50", "16, 10, 16, 20", "16, 10, 4, 10", "32, 10, 2, 20", "64, 5, 64, 100"})
    void aServerThatSlowsDown_isFollowedAndRecovers(int workers, int millis, int slowWorkers, int slowMillis) {
        SimulatedServer server = server(workers, millis);
        overload(server, 20);

        server.becomes(slowWorkers, Duration.ofMillis(slowMillis));
        overload(server, 10);
        assertFits(server, slowWorkers);

        server.becomes(workers, Duration.ofMillis(millis));
        overload(server, 10);
        assertFits(server, workers);
        overload(server, 10);
        assertThat(server.served).isGreaterThan((int) (server.capacity() * 10 * 0.9));
    }

    @Test
    void atLowLoad_theLimitDoesNotFallAndNothingIsRefused() {
        SimulatedServer server = server(16, 10);
        overload(server, 10);
        int before = server.limit.limit();

        // Two calls at a time.
        server.receive(200, Duration.ofHours(1));

        assertThat(server.refused).isZero();
        assertThat(server.limit.limit()).isGreaterThanOrEqualTo(before);
    }

    @Test
    void aServerThatNeverHadLoad_refusesNothing() {
        SimulatedServer server = server(4, 20);

        server.receive(20, Duration.ofHours(1));

        assertThat(server.refused).isZero();
        assertThat(server.limit.limit()).isGreaterThanOrEqualTo(8);
    }

    @Test
    void theLimit_staysWithinMinAndMax() {
        SimulatedServer many = new SimulatedServer(
                new AdaptiveConcurrency(2, 20, 0.25, Duration.ofSeconds(30)), 100, Duration.ofMillis(10));
        overload(many, 10);
        assertThat(many.limit.limit()).isEqualTo(20);

        SimulatedServer one = new SimulatedServer(
                new AdaptiveConcurrency(12, 20, 0.25, Duration.ofSeconds(30)), 1, Duration.ofMillis(10));
        overload(one, 10);
        assertThat(one.limit.limit()).isEqualTo(12);
    }

    @Test
    void callsWithoutAnAnswer_countOnlyIfTheyTookLong() {
        AtomicLong now = new AtomicLong();
        AdaptiveLimit limit = new AdaptiveLimit(DEFAULT, now::get, new Random(1));
        for (int i = 0; i < 100; i++) {
            round(limit, now, 8, 20, true);
        }
        int before = limit.limit();

        for (int i = 0; i < 100; i++) {
            round(limit, now, 8, 1, false);
        }
        assertThat(limit.limit()).isEqualTo(before);
        assertThat(limit.baselineNanos()).isEqualTo(20e6);

        for (int i = 0; i < 5; i++) {
            round(limit, now, before, 2000, false);
        }
        assertThat(limit.limit()).isLessThan(before);
    }

    private static void round(AdaptiveLimit limit, AtomicLong now, int calls, long millis, boolean answered) {
        long start = now.get();
        for (int i = 0; i < calls; i++) {
            limit.started();
        }
        now.addAndGet(Duration.ofMillis(millis).toNanos());
        for (int i = 0; i < calls; i++) {
            limit.ended(start, Duration.ofMillis(millis).toNanos(), answered);
        }
    }

    @Test
    void racingThreads_giveEveryPlaceBack() throws InterruptedException {
        AdaptiveLimit limit = new AdaptiveLimit(
                new AdaptiveConcurrency(1, 1, 0.25, Duration.ofMillis(1)), System::nanoTime, new Random(1));
        CountDownLatch done = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            Thread.startVirtualThread(() -> {
                for (int call = 0; call < 50_000; call++) {
                    limit.started();
                    limit.ended(System.nanoTime(), 1 + call % 1000, call % 3 != 0);
                }
                done.countDown();
            });
        }
        done.await();

        assertThat(limit.room()).isPositive();
        limit.started();
        assertThat(limit.room()).isZero();
    }
}

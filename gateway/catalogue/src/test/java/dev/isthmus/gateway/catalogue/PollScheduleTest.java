package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PollScheduleTest {
    private final AtomicLong now = new AtomicLong();
    private final PollSchedule<String> rounds =
            new PollSchedule<>(Duration.ofSeconds(10), now::get, new SplittableRandom(1));

    private void pass(int seconds) {
        now.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void request_underWay_isNotSentAgain() {
        assertThat(rounds.begin("a")).isTrue();
        pass(100);
        assertThat(rounds.begin("a")).isFalse();
    }

    @Test
    void request_ended_isDueAfterThePeriod() {
        rounds.begin("a");
        rounds.ended("a");
        pass(8);
        assertThat(rounds.begin("a")).isFalse();
        pass(4);
        assertThat(rounds.begin("a")).isTrue();
    }

    @Test
    void request_hurriedWhileUnderWay_isSentOnceMore() {
        rounds.begin("a");
        rounds.pollNow("a");
        assertThat(rounds.begin("a")).isFalse();
        rounds.ended("a");
        assertThat(rounds.begin("a")).isTrue();
        rounds.ended("a");
        assertThat(rounds.begin("a")).isFalse();
    }

    @Test
    void polls_settleWhenAllHaveEnded() {
        Set<String> all = Set.of("a", "b");
        assertThat(rounds.settled(Set.of())).isTrue();
        rounds.begin("a");
        rounds.ended("a");
        assertThat(rounds.settled(all)).isFalse();
        rounds.begin("b");
        assertThat(rounds.settled(all)).isFalse();
        rounds.pollNow("b");
        rounds.ended("b");
        assertThat(rounds.settled(all)).isFalse();
        rounds.begin("b");
        rounds.ended("b");
        assertThat(rounds.settled(all)).isTrue();
    }

    @Test
    void request_forgotten_isNewAgain() {
        rounds.begin("a");
        rounds.retain(Set.of("b"));
        assertThat(rounds.begin("a")).isTrue();
    }
}

package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.ClusterResources.CheckPace;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CheckPaceTest {
    private static final int PER_SECOND = 100;
    /** What may run early: a tenth of a second. */
    private static final int BURST = 10;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<Integer> run = new ArrayList<>();
    private long now = -3;
    private final CheckPace pace = new CheckPace(loop.eventLoop(), () -> now);

    @BeforeEach
    void stopTime() {
        loop.freezeTime();
    }

    @AfterEach
    void close() {
        loop.finishAndReleaseAll();
    }

    private void submit(int checks) {
        IntStream.range(0, checks).forEach(check -> pace.submit(1, () -> run.add(check)));
        assertThat(run).isEmpty();
        loop.runPendingTasks();
    }

    private void pass(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runPendingTasks();
    }

    @Test
    void withoutLimit_allRunAtOnce() {
        submit(1_000);

        assertThat(run).hasSize(1_000);
    }

    @Test
    void checksBeyondTheLimit_waitForTheirTurn() {
        pace.perSecond(PER_SECOND);
        pass(1_000);
        submit(1_000);

        assertThat(run).hasSize(BURST);
        pass(1_000);
        assertThat(run).hasSizeBetween(BURST + PER_SECOND - 1, BURST + PER_SECOND);
        pass(9_000);
        assertThat(run)
                .containsExactlyElementsOf(IntStream.range(0, 1_000).boxed().toList());
    }

    @Test
    void severalChecksOfATask_countEach() {
        pace.perSecond(PER_SECOND);
        pass(1_000);
        IntStream.range(0, 3).forEach(task -> pace.submit(BURST, () -> run.add(task)));
        loop.runPendingTasks();

        assertThat(run).containsExactly(0);
        pass(110);
        assertThat(run).containsExactly(0, 1);
    }

    @Test
    void timeWithoutChecks_isNotSaved() {
        pace.perSecond(PER_SECOND);
        pass(3_600_000);
        submit(1_000);

        assertThat(run).hasSize(BURST);
    }

    @Test
    void higherLimit_holdsForNewChecks() {
        pace.perSecond(1);
        pass(1_000);
        submit(2);
        pass(3_000);
        run.clear();
        pace.perSecond(PER_SECOND);
        submit(BURST + 1);
        pass(30);

        assertThat(run).hasSize(BURST + 1);
    }
}

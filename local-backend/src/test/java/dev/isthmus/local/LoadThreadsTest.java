package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.local.LoadThreads.LoadStep;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LoadThreadsTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(20);

    private final List<Step> steps = new ArrayList<>();

    @AfterEach
    void end() {
        steps.forEach(step -> step.end.countDown());
    }

    /** A step that ends when it is told to, or only when the test ends. */
    private static final class Step implements LoadStep<String> {
        private final boolean obeys;
        private final CountDownLatch end = new CountDownLatch(1);
        private final CountDownLatch discarded = new CountDownLatch(1);
        private volatile @Nullable String thread;

        Step(boolean obeys) {
            this.obeys = obeys;
        }

        @Override
        public String subject() {
            return "model 'm'";
        }

        @Override
        public String activity() {
            return "its warm-up";
        }

        @Override
        public String run() {
            thread = Thread.currentThread().getName();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            if (obeys) {
                throw new OipException(ErrorCode.CANCELLED, "terminated");
            }
            return "opened";
        }

        @Override
        public void terminate() {
            if (obeys) {
                end.countDown();
            }
        }

        @Override
        public void discard(String result) {
            discarded.countDown();
        }
    }

    private Step step(boolean obeys) {
        Step step = new Step(obeys);
        steps.add(step);
        return step;
    }

    @Test
    void stepThatEnds_hasItsResult() {
        Step step = step(false);
        step.end.countDown();
        try (LoadThreads threads = new LoadThreads(LONG)) {
            assertThat(threads.call(step)).isEqualTo("opened");
        }
    }

    @Test
    void stepThatDoesNotEndInTime_isTerminated() {
        try (LoadThreads threads = new LoadThreads(SHORT, LONG)) {
            assertThatThrownBy(() -> threads.call(step(true)))
                    .hasMessage("its warm-up did not end within 20 ms, the load_timeout")
                    .extracting("code")
                    .isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(threads.abandoned()).isZero();
        }
    }

    @Test
    void stepThatCannotBeTerminated_isAbandoned_andItsResultReleasedWhenItEnds() throws InterruptedException {
        Step step = step(false);
        try (LoadThreads threads = new LoadThreads(SHORT, SHORT)) {
            assertThatThrownBy(() -> threads.call(step)).hasMessageContaining("did not end within 20 ms");
            assertThat(threads.abandoned()).isOne();
            step.end.countDown();
            step.discarded.await();
            assertThat(threads.abandoned()).isZero();
        }
    }

    @Test
    void threads_haveNamesOfTheirOwn_soThatACrashHasOneModel() {
        List<String> names = new ArrayList<>();
        try (LoadThreads threads = new LoadThreads(LONG)) {
            for (int i = 0; i < 2; i++) {
                Step step = step(false);
                step.end.countDown();
                threads.call(step);
                names.add(step.thread);
            }
        }
        assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.startsWith("isthmus-local-load"));
    }

    @Test
    void closed_beginsNoStep() {
        LoadThreads threads = new LoadThreads(LONG);
        threads.close();
        Step step = step(true);
        assertThatThrownBy(() -> threads.call(step))
                .hasMessage("the local backend is closing")
                .extracting("code")
                .isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(step.thread).isNull();
    }

    @Test
    void tooManyAbandonedThreads_noMoreLoads() {
        try (LoadThreads threads = new LoadThreads(SHORT, SHORT)) {
            for (int i = 0; i < LoadThreads.MAX_ABANDONED; i++) {
                assertThatThrownBy(() -> threads.call(step(false))).hasMessageContaining("did not end");
            }
            assertThatThrownBy(() -> threads.call(step(true)))
                    .hasMessage("16 earlier loads did not end and still run; only a restart of the gateway ends them");
        }
    }
}

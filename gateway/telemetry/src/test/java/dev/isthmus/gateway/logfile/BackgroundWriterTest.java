package dev.isthmus.gateway.logfile;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The steps of a thread that writes in the background. */
class BackgroundWriterTest {
    private static final long NEVER = TimeUnit.HOURS.toNanos(1);
    private static final int PATIENCE_SECONDS = 30;

    private final Semaphore steps = new Semaphore(0);

    private final class Steps {
        private final BackgroundWriter writer;

        Steps(long pauseNanos) {
            writer = new BackgroundWriter("test", () -> repeat(pauseNanos));
        }

        private void repeat(long pauseNanos) {
            writer.repeat(pauseNanos, steps::release);
        }
    }

    private void awaitStep() throws InterruptedException {
        assertThat(steps.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void steps_followEachOther() throws Exception {
        BackgroundWriter writer = new Steps(1).writer;
        writer.start();
        awaitStep();
        awaitStep();
        writer.close();
    }

    @Test
    void wakeUp_endsAPause() throws Exception {
        BackgroundWriter writer = new Steps(NEVER).writer;
        writer.start();
        writer.wake();
        awaitStep();
        writer.close();
    }

    @Test
    void close_takesALastStep_andEndsTheThread() throws Exception {
        BackgroundWriter writer = new Steps(NEVER).writer;
        writer.start();
        writer.close();
        awaitStep();
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(each -> each.getName().startsWith("test-"));
        writer.close();
        assertThat(steps.availablePermits()).isZero();
    }
}

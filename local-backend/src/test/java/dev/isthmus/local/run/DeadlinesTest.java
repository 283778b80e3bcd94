package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DeadlinesTest {
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private final Deadlines deadlines = new Deadlines();
    private final BlockingQueue<String> passed = new LinkedBlockingQueue<>();
    private final long now = System.nanoTime();

    private Deadlines.DeadlineTimer set(String name, long fromNow) {
        return deadlines.set(now + fromNow, () -> passed.add(name));
    }

    /** The timers that expire up to a time, without the thread. */
    private List<String> passing(long fromNow) {
        List<Deadlines.DeadlineTimer> due = new ArrayList<>();
        deadlines.collect(now + fromNow, due);
        due.forEach(Deadlines.DeadlineTimer::expire);
        List<String> names = new ArrayList<>();
        passed.drainTo(names);
        return names;
    }

    private void withThread(Callable<?> test) throws Exception {
        Thread thread = new Thread(deadlines, "deadlines");
        thread.start();
        test.call();
        deadlines.close();
        thread.join();
    }

    @Test
    void each_passesOnce_atItsTime() {
        set("three", 3 * HOUR);
        set("one", HOUR);
        set("two", 2 * HOUR);
        assertThat(passing(HOUR - 1)).isEmpty();
        assertThat(passing(2 * HOUR)).containsExactly("one", "two");
        assertThat(deadlines.collect(now + 2 * HOUR, new ArrayList<>())).isEqualTo(HOUR);
        assertThat(passing(4 * HOUR)).containsExactly("three");
    }

    @Test
    void cancelled_doesNotPass_andMayBeCancelledAgain() {
        set("before", HOUR);
        Deadlines.DeadlineTimer cancelled = set("cancelled", HOUR);
        set("after", HOUR);
        deadlines.cancel(cancelled);
        deadlines.cancel(cancelled);
        assertThat(passing(HOUR)).containsExactly("before", "after");
        assertThat(passing(HOUR)).isEmpty();
    }

    @Test
    void thread_wakesForASoonerOne() throws Exception {
        withThread(() -> {
            set("an hour", HOUR);
            set("now", 0);
            assertThat(passed.poll(60, TimeUnit.SECONDS)).isEqualTo("now");
            return passed;
        });
        assertThat(passed).isEmpty();
    }

    @Test
    void taskThatFails_doesNotEndTheThread() throws Exception {
        withThread(() -> {
            deadlines.set(now, () -> {
                throw new OutOfMemoryError("this is a test");
            });
            set("next", 1);
            assertThat(passed.poll(60, TimeUnit.SECONDS)).isEqualTo("next");
            return passed;
        });
    }

    @Test
    void closed_takesNothing() throws Exception {
        withThread(() -> passed);
        deadlines.cancel(set("late", 1));
        assertThat(passing(HOUR)).isEmpty();
    }
}

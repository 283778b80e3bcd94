package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class OpenLoopTest {
    private static final long START = 5_000;
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final AtomicLong clock = new AtomicLong(START);
    private final List<Long> due = new ArrayList<>();
    private final List<Long> sent = new ArrayList<>();

    @Test
    void arrivals_comeOnSchedule() {
        loop(4).run(this::arrive);
        assertThat(due).containsExactly(START, START + MILLI, START + 2 * MILLI, START + 3 * MILLI);
        assertThat(sent).isEqualTo(due);
    }

    @Test
    void arrivals_afterAStall_keepTheirTimes() {
        loop(4).run((number, scheduled) -> {
            arrive(number, scheduled);
            if (number == 1) {
                clock.addAndGet(10 * MILLI);
            }
        });
        assertThat(due).containsExactly(START, START + MILLI, START + 2 * MILLI, START + 3 * MILLI);
        assertThat(sent).containsExactly(START, START + MILLI, START + 11 * MILLI, START + 11 * MILLI);
    }

    @Test
    void pause_thatEndsEarly_isRepeated() {
        new OpenLoop(1_000, 3, clock::get, nanos -> clock.addAndGet(Math.min(nanos, 100))).run(this::arrive);
        assertThat(sent).isEqualTo(due).hasSize(3);
    }

    @Test
    void rate_thatDoesNotDivideASecond_doesNotDrift() {
        new OpenLoop(3, 7, clock::get, clock::addAndGet).run(this::arrive);
        assertThat(due.get(6)).isEqualTo(START + TimeUnit.SECONDS.toNanos(2));
    }

    private OpenLoop loop(int count) {
        return new OpenLoop(1_000, count, clock::get, clock::addAndGet);
    }

    private void arrive(int number, long scheduled) {
        assertThat(number).isEqualTo(due.size());
        due.add(scheduled);
        sent.add(clock.get());
    }
}

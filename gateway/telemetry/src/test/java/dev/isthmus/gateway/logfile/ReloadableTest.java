package dev.isthmus.gateway.logfile;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a reload replaces. */
class ReloadableTest {
    private final Reloadable<String, Named> logs = new Reloadable<>(Named::new);
    private final List<String> events = new CopyOnWriteArrayList<>();

    private final class Named implements Reloadable.Replaced {
        private final String name;
        private final BackgroundWriter writer;

        Named(String name) {
            this.name = name;
            writer = new BackgroundWriter(name, this::run);
        }

        private void run() {
            events.add(name + " begins");
            writer.repeat(TimeUnit.HOURS.toNanos(1), () -> {});
            Named used = logs.current();
            events.add(name + " ends, " + (used == null ? "none" : used.name) + " is used");
        }

        @Override
        public BackgroundWriter writer() {
            return writer;
        }
    }

    @Test
    void nextOne_isUsedWhileThePreviousOneEnds_andBeginsThen() {
        logs.configure("a");
        logs.configure("a");
        logs.configure("b");
        logs.close();
        assertThat(events).containsExactly("a begins", "a ends, b is used", "b begins", "b ends, none is used");
        assertThat(logs.current()).isNull();
    }
}

package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

class LowPriorityThreadTest {
    /** The index among the fields after the thread's name. */
    private static final int NICE_FIELD = 16;

    private static int nice() throws Exception {
        if (!LowPriorityThread.supported()) {
            return LowPriorityThread.NICE;
        }
        String stat = Files.readString(Path.of("/proc/thread-self/stat"));
        List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
        return Integer.parseInt(fields.get(NICE_FIELD));
    }

    @Test
    void thread_isLowered_andOthersAreNot() throws Exception {
        int before = nice();
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(LowPriorityThread::lower).get();
            // More if the whole process has less priority: only root may raise it.
            assertThat(thread.submit(LowPriorityThreadTest::nice).get()).isGreaterThanOrEqualTo(LowPriorityThread.NICE);
        }
        assertThat(nice()).isEqualTo(before);
    }
}

package dev.isthmus.bench.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Scheduling delay of the threads that responses depend on (event loops, the VM thread): the time they were runnable
 * without a processor, from {@code /proc/PID/task/TID/schedstat}. Zero if the kernel does not report it.
 */
final class SchedulingDelay {
    private static final int KEPT = 400;
    private static final Set<String> THREADS = Set.of("isthmus-loop", "isthmus-admin", "VM Thread");

    /** Delay so far in nanoseconds, by thread. */
    private record Look(long nanos, Map<Path, Long> waited) {}

    private final Path tasks;
    private final Deque<Look> looks = new ArrayDeque<>();

    SchedulingDelay(long pid) {
        tasks = Path.of("/proc", Long.toString(pid), "task");
    }

    /** Takes a sample; to be called often. */
    void look() {
        Map<Path, Long> waited = new HashMap<>();
        try (Stream<Path> all = Files.list(tasks)) {
            for (Path task : all.toList()) {
                if (counts(Files.readString(task.resolve("comm")))) {
                    String[] fields =
                            Files.readString(task.resolve("schedstat")).split(" ", -1);
                    waited.put(task, Long.parseLong(fields[1]));
                }
            }
        } catch (IOException e) {
            // the process or a thread has ended, or the kernel does not report it
        }
        synchronized (looks) {
            if (looks.size() == KEPT) {
                looks.removeFirst();
            }
            looks.addLast(new Look(System.nanoTime(), waited));
        }
    }

    private static boolean counts(String name) {
        return THREADS.stream().anyMatch(name::startsWith);
    }

    /** Delay in milliseconds since then, of the thread with the longest delay. */
    long millisSince(long nanos) {
        List<Look> all;
        synchronized (looks) {
            all = List.copyOf(looks);
        }
        if (all.isEmpty()) {
            return 0;
        }
        Look from = all.getFirst();
        for (Look look : all) {
            from = look.nanos() - nanos <= 0 ? look : from;
        }
        Look begun = from;
        return all.getLast().waited().entrySet().stream()
                        .mapToLong(thread ->
                                thread.getValue() - begun.waited().getOrDefault(thread.getKey(), thread.getValue()))
                        .max()
                        .orElse(0)
                / 1_000_000;
    }
}

package dev.isthmus.bench.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** Resource usage of a process and its children, from /proc. */
public record ProcessFigures(ProcessHandle process) {
    private static final double MIB = 1024;
    private static final double TICKS_PER_SECOND = 100;

    public ProcessFigures(long pid) {
        this(ProcessHandle.of(pid).orElseThrow());
    }

    private List<ProcessHandle> all() {
        return Stream.concat(Stream.of(process), process.descendants()).toList();
    }

    /** Resident memory in MiB; 0 if the process has ended. */
    public double residentMib() {
        return all().stream().mapToDouble(one -> field(one, "VmRSS:") / MIB).sum();
    }

    /** Largest resident memory in MiB since {@link #resetPeak()}, or since the start; without child processes. */
    public double peakMib() {
        return field(process, "VmHWM:") / MIB;
    }

    /** Makes the present resident memory the largest so far. Linux only, for processes of the same user. */
    public void resetPeak() throws IOException {
        Files.writeString(Path.of("/proc", Long.toString(process.pid()), "clear_refs"), "5");
    }

    public long threads() {
        return field(process, "Threads:");
    }

    /** The number of open file descriptors, including sockets; without child processes. */
    public long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc", Long.toString(process.pid()), "fd"))) {
            return open.count();
        }
    }

    /** A number of the process's status; memory is in KiB. */
    private static long field(ProcessHandle one, String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc", Long.toString(one.pid()), "status"))) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        } catch (IOException e) {
            return 0; // it has ended
        }
        return 0;
    }

    /** CPU time used so far in seconds. */
    public double cpuSeconds() {
        return all().stream()
                .mapToDouble(one ->
                        one.info().totalCpuDuration().map(Duration::toMillis).orElse(0L) / 1_000.0)
                .sum();
    }

    /** CPU time of the threads whose names begin with this, in seconds; without child processes. */
    public double cpuSecondsOf(String threads) throws IOException {
        long ticks = 0;
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (Path task : tasks.toList()) {
                String stat = Files.readString(task.resolve("stat"));
                if (stat.contains("(" + threads)) {
                    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
                    ticks += Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
                }
            }
        }
        return ticks / TICKS_PER_SECOND;
    }

    public boolean alive() {
        return process.isAlive();
    }
}

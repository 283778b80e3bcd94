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

    public ProcessFigures(long pid) {
        this(ProcessHandle.of(pid).orElseThrow());
    }

    private List<ProcessHandle> all() {
        return Stream.concat(Stream.of(process), process.descendants()).toList();
    }

    /** Resident memory in MiB; 0 if the process has ended. */
    public double residentMib() {
        return all().stream().mapToDouble(ProcessFigures::resident).sum();
    }

    /** Largest resident memory in MiB since {@link #resetPeak()}, or since the start; without child processes. */
    public double peakMib() {
        return field(process, "VmHWM:");
    }

    /** Makes the present resident memory the largest so far. Linux only, for processes of the same user. */
    public void resetPeak() throws IOException {
        Files.writeString(Path.of("/proc", Long.toString(process.pid()), "clear_refs"), "5");
    }

    private static double resident(ProcessHandle one) {
        return field(one, "VmRSS:");
    }

    private static double field(ProcessHandle one, String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc", Long.toString(one.pid()), "status"))) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) / MIB;
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

    public boolean alive() {
        return process.isAlive();
    }
}

package dev.isthmus.bench.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** Resource usage of a process and its children, from /proc. */
record ProcessFigures(ProcessHandle process) {
    private static final double MIB = 1024;

    ProcessFigures(long pid) {
        this(ProcessHandle.of(pid).orElseThrow());
    }

    private List<ProcessHandle> all() {
        return Stream.concat(Stream.of(process), process.descendants()).toList();
    }

    /** Resident memory in MiB; 0 if the process has ended. */
    double residentMib() {
        return all().stream().mapToDouble(ProcessFigures::resident).sum();
    }

    private static double resident(ProcessHandle one) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc", Long.toString(one.pid()), "status"))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) / MIB;
                }
            }
        } catch (IOException e) {
            return 0; // it has ended
        }
        return 0;
    }

    /** CPU time used so far in seconds. */
    double cpuSeconds() {
        return all().stream()
                .mapToDouble(one ->
                        one.info().totalCpuDuration().map(Duration::toMillis).orElse(0L) / 1_000.0)
                .sum();
    }

    boolean alive() {
        return process.isAlive();
    }
}

package dev.isthmus.gateway.metrics;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * Resource usage of the process, under the names that Prometheus' client libraries use. NaN if the system does not
 * report it.
 */
final class ProcessResources {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final double MILLIS = TimeUnit.SECONDS.toMillis(1);
    private static final int KIB = 1024;

    private ProcessResources() {}

    static void register(MeterRegistry registry) {
        if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system) {
            FunctionCounter.builder("process.cpu", system, it -> it.getProcessCpuTime() / NANOS)
                    .description("User and system CPU time of the process")
                    .baseUnit("seconds")
                    .register(registry);
            if (system instanceof UnixOperatingSystemMXBean unix) {
                files(unix, registry);
            }
        }
        double started = ManagementFactory.getRuntimeMXBean().getStartTime() / MILLIS;
        gauge("process.start.time", "seconds", "Start time of the process since the epoch", registry, it -> started);
        gauge("process.resident.memory", "bytes", "Resident memory of the process", registry, it -> kib("VmRSS"));
        gauge("process.virtual.memory", "bytes", "Virtual memory of the process", registry, it -> kib("VmSize"));
    }

    private static void files(UnixOperatingSystemMXBean system, MeterRegistry registry) {
        Gauge.builder("process.open.fds", system, UnixOperatingSystemMXBean::getOpenFileDescriptorCount)
                .description("Open file descriptors")
                .register(registry);
        Gauge.builder("process.max.fds", system, UnixOperatingSystemMXBean::getMaxFileDescriptorCount)
                .description("Limit of open file descriptors")
                .register(registry);
    }

    private static void gauge(
            String name, String unit, String what, MeterRegistry registry, ToDoubleFunction<Path> value) {
        Gauge.builder(name, STATUS, value).description(what).baseUnit(unit).register(registry);
    }

    /** Reads a line of /proc/self/status, in bytes. */
    private static double kib(String key) {
        try {
            for (String line : Files.readAllLines(STATUS, StandardCharsets.ISO_8859_1)) {
                if (line.startsWith(key + ":")) {
                    return Double.parseDouble(line.replaceAll("[^0-9]", "")) * KIB;
                }
            }
        } catch (IOException e) {
            return Double.NaN;
        }
        return Double.NaN;
    }
}

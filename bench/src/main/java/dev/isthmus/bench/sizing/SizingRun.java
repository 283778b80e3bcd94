package dev.isthmus.bench.sizing;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Measures one gateway, and prints a row for each figure. */
final class SizingRun {
    /** Threads that serve calls and send checks. */
    static final String LOOPS = "isthmus-loop";

    private static final int RELOADED_MILLIS = 5_000;

    private final SizedGateway gateway;
    private final int settleSeconds;
    private final int idleSeconds;
    private final int reloads;
    private final PrintWriter out;

    /**
     * @param settleSeconds time before the gateway is observed
     * @param idleSeconds how long the idle gateway is observed
     * @param reloads how many times it is reloaded
     */
    SizingRun(SizedGateway gateway, int settleSeconds, int idleSeconds, int reloads, PrintWriter out) {
        this.gateway = gateway;
        this.settleSeconds = settleSeconds;
        this.idleSeconds = idleSeconds;
        this.reloads = reloads;
        this.out = out;
    }

    /** Prints all figures but those of calls. */
    void measure(double startSeconds) throws IOException, InterruptedException, BenchException {
        out.printf(Locale.ROOT, "%n| %s | |%n|---|---|%n", gateway.shape().label());
        row("ready after, s", "%.1f", startSeconds);
        row("CPU until then, s", "%.1f", gateway.process().cpuSeconds());
        Thread.sleep(settleSeconds * 1_000L);
        row("resident, MiB", "%.0f", gateway.process().residentMib());
        row("heap after a collection, MiB", "%.1f", gateway.heapMib());
        idle();
        scrape();
        reload();
    }

    private void idle() throws IOException, InterruptedException, BenchException {
        Map<String, Long> before = gateway.requests();
        double cpu = gateway.process().cpuSeconds();
        double loops = gateway.process().cpuSecondsOf(LOOPS);
        long begun = System.nanoTime();
        Thread.sleep(idleSeconds * 1_000L);
        double seconds = (System.nanoTime() - begun) / 1e9;
        double used = gateway.process().cpuSeconds() - cpu;
        double looped = gateway.process().cpuSecondsOf(LOOPS) - loops;
        Map<String, Double> rates = new TreeMap<>();
        gateway.requests().forEach((method, count) -> {
            double rate = (count - before.getOrDefault(method, 0L)) / seconds;
            if (rate > 0) {
                rates.put(method, rate);
            }
        });
        row("idle: CPU, % of a core", "%.1f", 100 * used / seconds);
        row("idle: CPU without compilers and other threads, % of a core", "%.1f", 100 * looped / seconds);
        out.println("| idle: requests a second | "
                + rates.entrySet().stream()
                        .map(rate -> String.format(Locale.ROOT, "%s %.1f", rate.getKey(), rate.getValue()))
                        .collect(Collectors.joining(", "))
                + " |");
    }

    private void scrape() throws IOException {
        double cpu = gateway.process().cpuSeconds();
        String metrics = gateway.metrics();
        row(
                "metrics: time series",
                "%.0f",
                metrics.lines().filter(line -> !line.startsWith("#")).count());
        row("metrics: size, kB", "%.0f", metrics.length() / 1e3);
        row("metrics: CPU of a scrape, s", "%.2f", gateway.process().cpuSeconds() - cpu);
    }

    private void reload() throws IOException, InterruptedException, BenchException {
        double[] seconds = new double[reloads];
        double[] cpu = new double[reloads];
        double above = 0;
        for (int i = 0; i < reloads; i++) {
            double before = gateway.process().residentMib();
            cpu[i] = -gateway.process().cpuSeconds();
            gateway.process().resetPeak();
            seconds[i] = gateway.reload();
            cpu[i] += gateway.process().cpuSeconds();
            above = Math.max(above, gateway.process().peakMib() - before);
            Thread.sleep(Math.min(RELOADED_MILLIS, idleSeconds * 1_000L));
        }
        row("reload: first, s", "%.2f", seconds[0]);
        row("reload: median, s", "%.2f", median(seconds));
        row("reload: CPU, median, s", "%.2f", median(cpu));
        row("reload: resident above, at most, MiB", "%.0f", above);
        row("resident at the end, MiB", "%.0f", gateway.process().residentMib());
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private void row(String what, String format, double value) {
        out.println("| " + what + " | " + String.format(Locale.ROOT, format, value) + " |");
        out.flush();
    }
}

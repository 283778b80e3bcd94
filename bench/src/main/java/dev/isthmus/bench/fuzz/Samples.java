package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Loopback;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Periodic samples of the gateway's resources, which must not grow. */
final class Samples {
    /**
     * A sampled resource.
     *
     * @param most allowed growth over the second half of a run, along the regression line
     */
    record Kind(String name, double most) {}

    private static final double MB = 1e6;

    /**
     * Limits allow for noise: the allocator retains as many chunks, in and outside the heap, as were in use at once,
     * and each client connection is a descriptor.
     */
    static final List<Kind> KINDS = List.of(
            new Kind("resident, MB", 64),
            new Kind("heap after a collection, MB", 12),
            new Kind("direct memory, MB", 32),
            new Kind("descriptors", 100),
            new Kind("threads", 3));

    /** Values in the order of {@link #KINDS}. */
    private record Sample(double seconds, double[] values) {}

    private final PrintWriter out;
    private final long begun = System.nanoTime();
    private final List<Sample> samples = new ArrayList<>();

    Samples(PrintWriter out) {
        this.out = out;
        out.print("| s |");
        KINDS.forEach(kind -> out.print(" " + kind.name() + " |"));
        out.println(" sequences |\n|---|---|---|---|---|---|---|");
    }

    /** Takes a sample and prints a row. */
    void add(FuzzSetup setup, Sequences sequences) throws IOException, InterruptedException, BenchException {
        double heap = setup.heap() / MB;
        double[] values = {
            setup.figures().residentMib() * (1 << 20) / MB,
            heap,
            Loopback.sum(setup.metrics(), "isthmus_buffers_direct_bytes", "") / MB,
            setup.figures().descriptors(),
            setup.figures().threads()
        };
        double seconds = (System.nanoTime() - begun) / 1e9;
        samples.add(new Sample(seconds, values));
        out.print(String.format(Locale.ROOT, "| %.0f |", seconds));
        for (double value : values) {
            out.print(String.format(Locale.ROOT, value < 100 ? " %.1f |" : " %.0f |", value));
        }
        out.println(" " + sequences.count() + " |");
        out.flush();
    }

    /** Resources that grew by more than their limit over the second half. */
    List<String> risen() {
        List<String> risen = new ArrayList<>();
        List<Sample> half = samples.subList(samples.size() / 2, samples.size());
        for (int kind = 0; kind < KINDS.size(); kind++) {
            int number = kind;
            double rise = rise(
                    half.stream().mapToDouble(Sample::seconds).toArray(),
                    half.stream().mapToDouble(sample -> sample.values()[number]).toArray());
            Kind of = KINDS.get(kind);
            out.println(String.format(
                    Locale.ROOT, "%s: %+.1f over the second half, at most %.0f", of.name(), rise, of.most()));
            if (rise > of.most()) {
                risen.add(String.format(
                        Locale.ROOT,
                        "%s rose by %.1f over the second half, more than %.0f",
                        of.name(),
                        rise,
                        of.most()));
            }
        }
        return risen;
    }

    /** Growth from the first to the last sample on the least-squares line. */
    static double rise(double[] seconds, double[] values) {
        double middle = Arrays.stream(seconds).average().orElse(0);
        double mean = Arrays.stream(values).average().orElse(0);
        double product = 0;
        double squares = 0;
        for (int i = 0; i < seconds.length; i++) {
            double away = seconds[i] - middle;
            product += away * (values[i] - mean);
            squares += away * away;
        }
        return squares == 0 ? 0 : product / squares * (seconds[seconds.length - 1] - seconds[0]);
    }
}

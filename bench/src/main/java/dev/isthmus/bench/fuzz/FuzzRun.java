package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Scratch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A run against its own gateway, from start to result. */
final class FuzzRun {
    /**
     * Settings of a run.
     *
     * @param home the project, with the packaged gateway
     * @param seconds duration of the sequences
     * @param connections concurrent connections of clients
     * @param patienceMillis time limit of health requests
     * @param replay file with sequences to run instead of random ones
     */
    record Settings(
            Path home,
            int seconds,
            long seed,
            int connections,
            int patienceMillis,
            @Nullable Path replay) {}

    /** Work in parallel to the sequences. */
    interface Beside {
        /** Called about five times per second. */
        void tick(FuzzSetup setup, Sequences sequences) throws IOException, InterruptedException, BenchException;

        /** The failures, after the sequences have ended. */
        List<String> failures();
    }

    /** No parallel work. */
    static final Beside ALONE = new Beside() {
        @Override
        public void tick(FuzzSetup setup, Sequences sequences) {}

        @Override
        public List<String> failures() {
            return List.of();
        }
    };

    private static final Duration END = Duration.ofSeconds(30);
    /** Time in which JIT compilation of new code paths may delay responses. */
    private static final Duration COLD = Duration.ofSeconds(5);

    private static final int SETTLED_SECONDS = 3;
    private static final double MOST_HEAP = 40e6;
    private static final long MOST_DESCRIPTORS = 40;

    private final Settings settings;
    private final PrintWriter out;
    private final List<String> failures = new ArrayList<>();

    FuzzRun(Settings settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    /** Runs; returns whether there were no failures. */
    boolean play(Beside beside) throws IOException, InterruptedException, BenchException {
        out.println("seed " + settings.seed());
        out.flush();
        try (Scratch scratch = new Scratch();
                Children children = new Children();
                FuzzSetup setup = new FuzzSetup(children, settings.home(), scratch.folder(), settings.seed())) {
            play(setup, beside);
        }
        failures.forEach(failure -> out.println("FAILED: " + failure));
        out.println(failures.isEmpty() ? "passed" : "failed");
        out.flush();
        return failures.isEmpty();
    }

    private void play(FuzzSetup setup, Beside beside) throws IOException, InterruptedException, BenchException {
        HealthProbes probes = new HealthProbes(
                setup.port(), setup.adminPort(), setup.gateway().pid(), settings.patienceMillis());
        try (probes) {
            Thread.sleep(SETTLED_SECONDS * 1_000L);
            double heap = setup.heap();
            long descriptors = setup.figures().descriptors();
            Path replay = settings.replay();
            Sequences sequences = replay == null
                    ? Sequences.random(setup.port(), settings.seed(), settings.connections())
                    : Sequences.replay(setup.port(), replay);
            try (sequences) {
                watch(setup, probes, sequences, beside);
            }
            out.println(sequences.count() + " sequences in " + settings.seconds() + " s at most");
            failures.addAll(beside.failures());
            if (setup.gateway().alive()) {
                probes.close();
                probes.print(out);
                atTheEnd(setup);
                grown("bytes of heap after a collection", heap, setup.heap(), MOST_HEAP);
                grown("descriptors", descriptors, setup.figures().descriptors(), MOST_DESCRIPTORS);
            }
            read(setup.log());
            if (!failures.isEmpty()) {
                save(sequences);
            }
        }
    }

    private void watch(FuzzSetup setup, HealthProbes probes, Sequences sequences, Beside beside)
            throws IOException, InterruptedException, BenchException {
        long begun = System.nanoTime();
        long end = begun + Duration.ofSeconds(settings.seconds()).toNanos();
        while (System.nanoTime() < end && failures.isEmpty()) {
            Thread.sleep(200);
            if (System.nanoTime() - begun > COLD.toNanos()) {
                probes.judge();
            }
            Throwable problem = sequences.problem();
            if (problem != null) {
                throw new IllegalStateException("the sequences cannot be run", problem);
            }
            if (setup.gateway().alive()) {
                beside.tick(setup, sequences);
            } else {
                failures.add(String.valueOf(setup.gateway().failure("died").getMessage()));
            }
            failures.addAll(probes.failures());
            failures.addAll(setup.log().errors());
        }
    }

    private void save(Sequences sequences) throws IOException {
        Path file = settings.home().resolve("bench/target/fuzz-" + settings.seed() + ".txt");
        Files.createDirectories(file.getParent());
        sequences.save(file, settings.seed());
        out.println("the last sequences of each connection are in " + file + ": --seed " + settings.seed()
                + " --replay " + file);
    }

    private void atTheEnd(FuzzSetup setup) throws IOException, InterruptedException {
        long end = System.nanoTime() + END.toNanos();
        Map<String, Double> left = setup.leftOver();
        while (!left.isEmpty() && System.nanoTime() < end) {
            Thread.sleep(500);
            left = setup.leftOver();
        }
        left.forEach((meter, value) ->
                failures.add(meter + " is " + value + ", " + END.toSeconds() + " s after the last client closed"));
    }

    private void grown(String what, double before, double after, double most) {
        out.printf("%s: %.0f before, %.0f after%n", what, before, after);
        if (after - before > most) {
            failures.add(String.format("%s grew from %.0f to %.0f, by more than %.0f", what, before, after, most));
        }
    }

    private void read(GatewayLog log) {
        for (String error : log.errors()) {
            if (!failures.contains(error)) {
                failures.add(error);
            }
        }
        Map<String, Integer> warnings = new TreeMap<>(log.warnings());
        if (!warnings.isEmpty()) {
            out.println("warnings of the gateway, by kind:");
            warnings.forEach((kind, count) -> out.println("  " + count + " x " + kind));
        }
    }
}

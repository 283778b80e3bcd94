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

/** A run against a gateway of its own, from its start to its verdict. */
final class Run {
    /**
     * What a run is made of.
     *
     * @param home the project, with the packaged gateway
     * @param seconds how long sequences are played
     * @param connections of clients at a time
     * @param patienceMillis how long health may take
     * @param replay a file with sequences to be played in place of random ones
     */
    record Settings(
            Path home,
            int seconds,
            long seed,
            int connections,
            int patienceMillis,
            @Nullable Path replay) {}

    /** What goes on beside the sequences. */
    interface Beside {
        /** Is called some five times a second. */
        void tick(Site site, Sequences sequences) throws IOException, InterruptedException, BenchException;

        /** What was wrong, when the sequences have ended. */
        List<String> failures();
    }

    /** Nothing beside. */
    static final Beside ALONE = new Beside() {
        @Override
        public void tick(Site site, Sequences sequences) {}

        @Override
        public List<String> failures() {
            return List.of();
        }
    };

    private static final Duration END = Duration.ofSeconds(30);
    /** The JVM compiles what it meets for the first time, on the processors that answer. */
    private static final Duration COLD = Duration.ofSeconds(5);

    private static final int SETTLED_SECONDS = 3;
    private static final double MOST_HEAP = 40e6;
    private static final long MOST_DESCRIPTORS = 40;

    private final Settings settings;
    private final PrintWriter out;
    private final List<String> failures = new ArrayList<>();

    Run(Settings settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    /** Whether nothing was wrong. */
    boolean play(Beside beside) throws IOException, InterruptedException, BenchException {
        out.println("seed " + settings.seed());
        out.flush();
        try (Scratch scratch = new Scratch();
                Children children = new Children();
                Site site = new Site(children, settings.home(), scratch.folder(), settings.seed())) {
            play(site, beside);
        }
        failures.forEach(failure -> out.println("FAILED: " + failure));
        out.println(failures.isEmpty() ? "passed" : "failed");
        out.flush();
        return failures.isEmpty();
    }

    private void play(Site site, Beside beside) throws IOException, InterruptedException, BenchException {
        Bystander bystander =
                new Bystander(site.port(), site.adminPort(), site.gateway().pid(), settings.patienceMillis());
        try (bystander) {
            Thread.sleep(SETTLED_SECONDS * 1_000L);
            double heap = site.heap();
            long descriptors = site.descriptors();
            Path replay = settings.replay();
            Sequences sequences = replay == null
                    ? Sequences.random(site.port(), settings.seed(), settings.connections())
                    : Sequences.replay(site.port(), replay);
            try (sequences) {
                watch(site, bystander, sequences, beside);
            }
            out.println(sequences.count() + " sequences in " + settings.seconds() + " s at most");
            failures.addAll(beside.failures());
            if (site.gateway().alive()) {
                bystander.close();
                bystander.print(out);
                atTheEnd(site);
                grown("bytes of heap after a collection", heap, site.heap(), MOST_HEAP);
                grown("descriptors", descriptors, site.descriptors(), MOST_DESCRIPTORS);
            }
            read(site.log());
            if (!failures.isEmpty()) {
                save(sequences);
            }
        }
    }

    private void watch(Site site, Bystander bystander, Sequences sequences, Beside beside)
            throws IOException, InterruptedException, BenchException {
        long begun = System.nanoTime();
        long end = begun + Duration.ofSeconds(settings.seconds()).toNanos();
        while (System.nanoTime() < end && failures.isEmpty()) {
            Thread.sleep(200);
            if (System.nanoTime() - begun > COLD.toNanos()) {
                bystander.judge();
            }
            Throwable problem = sequences.problem();
            if (problem != null) {
                throw new IllegalStateException("the sequences cannot be played", problem);
            }
            if (site.gateway().alive()) {
                beside.tick(site, sequences);
            } else {
                failures.add(String.valueOf(site.gateway().failure("died").getMessage()));
            }
            failures.addAll(bystander.failures());
            failures.addAll(site.log().errors());
        }
    }

    private void save(Sequences sequences) throws IOException {
        Path file = settings.home().resolve("bench/target/fuzz-" + settings.seed() + ".txt");
        Files.createDirectories(file.getParent());
        sequences.save(file, settings.seed());
        out.println("the last sequences of each connection are in " + file + ": --seed " + settings.seed()
                + " --replay " + file);
    }

    private void atTheEnd(Site site) throws IOException, InterruptedException {
        long end = System.nanoTime() + END.toNanos();
        Map<String, Double> left = site.leftOver();
        while (!left.isEmpty() && System.nanoTime() < end) {
            Thread.sleep(500);
            left = site.leftOver();
        }
        left.forEach((meter, value) ->
                failures.add(meter + " is " + value + ", " + END.toSeconds() + " s after the last client went"));
    }

    private void grown(String what, double before, double after, double most) {
        out.printf("%s: %.0f before, %.0f after%n", what, before, after);
        if (after - before > most) {
            failures.add(String.format("%s grew from %.0f to %.0f, by more than %.0f", what, before, after, most));
        }
    }

    private void read(Log log) {
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

package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code bench/soak}. Exits with status 1 on a failure, or if a resource grew. */
@Command(
        name = "soak",
        description =
                "Runs valid, cancelled, broken and hostile traffic for long, and samples the gateway's resources.",
        mixinStandardHelpOptions = true)
public final class Soak implements Callable<Integer> {
    private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(10);

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final FuzzOptions options = new FuzzOptions(16);

    @Parameters(index = "0", arity = "0..1", paramLabel = "MINUTES", description = "Duration; 30 by default.")
    private int minutes = 30;

    /**
     * The program.
     *
     * @param arguments see {@code bench/soak --help}
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Soak()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        long seed = options.seed();
        FuzzRun.Settings settings = options.settings(minutes * 60, seed, null);
        return new FuzzRun(settings, out).play(new Valid(out, seed)) ? 0 : 1;
    }

    /** Valid load and resource samples. */
    private static final class Valid implements FuzzRun.Beside {
        private final PrintWriter out;
        private final long seed;
        private final Samples samples;
        private @Nullable ValidLoad load;
        private long next = System.nanoTime();

        Valid(PrintWriter out, long seed) {
            this.out = out;
            this.seed = seed;
            this.samples = new Samples(out);
        }

        @Override
        public void tick(FuzzSetup setup, Sequences sequences)
                throws IOException, InterruptedException, BenchException {
            if (load == null) {
                load = new ValidLoad(setup.port(), seed);
            }
            if (System.nanoTime() >= next) {
                next = System.nanoTime() + PERIOD_NANOS;
                samples.add(setup, sequences);
            }
        }

        @Override
        public List<String> failures() {
            if (load != null) {
                load.close();
                out.println("valid calls by outcome: " + load.ends());
            }
            return samples.risen();
        }
    }
}

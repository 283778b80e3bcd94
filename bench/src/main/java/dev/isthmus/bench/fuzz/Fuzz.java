package dev.isthmus.bench.fuzz;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code bench/fuzz}. Exits with status 1 if a check failed. */
@Command(
        name = "fuzz",
        description =
                "Sends sequences generated from a seed to a small gateway before servers that respond incorrectly.",
        mixinStandardHelpOptions = true)
public final class Fuzz implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final FuzzOptions options = new FuzzOptions(32);

    @Parameters(index = "0", arity = "0..1", paramLabel = "SECONDS", description = "Duration; 600 by default.")
    private int seconds = 600;

    @Option(
            names = "--replay",
            paramLabel = "FILE",
            description = "Replays the sequences saved by a failed run, repeatedly.")
    private @Nullable Path replay;

    @Option(
            names = "--isolate",
            description = "Runs one sequence at a time, and reports those that leak resources or use much CPU.")
    private boolean isolate;

    /**
     * The program.
     *
     * @param arguments see {@code bench/fuzz --help}
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Fuzz()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        long seed = options.seed();
        Path file = replay;
        if (isolate) {
            Iterable<Long> seeds = file != null ? new TreeSet<>(Sequences.seeds(file)) : alone(seed);
            return SingleSequences.play(options.home(), seed, seeds, out) ? 0 : 1;
        }
        FuzzRun.Settings settings = options.settings(seconds, seed, replay);
        return new FuzzRun(settings, out).play(FuzzRun.ALONE) ? 0 : 1;
    }

    /** The sequences of one connection, until the time is over. */
    private Iterable<Long> alone(long from) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        return () -> LongStream.iterate(0, number -> number + 1)
                .takeWhile(number -> System.nanoTime() < end)
                .mapToObj(number -> SeededChoices.mix(from, number))
                .iterator();
    }
}

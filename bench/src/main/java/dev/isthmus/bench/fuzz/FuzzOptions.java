package dev.isthmus.bench.fuzz;

import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of every command that plays broken clients. */
final class FuzzOptions {
    @Option(
            names = "--home",
            paramLabel = "DIR",
            description = "The project, with the packaged gateway.",
            hidden = true)
    private Path home = Path.of(".");

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Plays the sequences of a run again; any other by default.")
    private @Nullable Long seed;

    @Option(
            names = "--connections",
            paramLabel = "N",
            description = "Broken clients at a time; ${DEFAULT-VALUE} by default.")
    private int connections;

    @Option(names = "--patience", paramLabel = "MS", description = "How long health may take; 1000 by default.")
    private int patienceMillis = 1_000;

    /** @param connections where none are given */
    FuzzOptions(int connections) {
        this.connections = connections;
    }

    Path home() {
        return home.toAbsolutePath().normalize();
    }

    /** The seed that was given, or any. */
    long seed() {
        return seed != null ? seed : ThreadLocalRandom.current().nextInt(1_000_000_000);
    }

    /** @param replay sequences that are played in place of others; null: none */
    FuzzRun.Settings settings(int seconds, long seed, @Nullable Path replay) {
        return new FuzzRun.Settings(home(), seconds, seed, connections, patienceMillis, replay);
    }
}

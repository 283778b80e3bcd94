package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.ProjectFolder;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options common to the commands that run broken clients. */
final class FuzzOptions {
    @Mixin
    private final ProjectFolder project = new ProjectFolder();

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Repeats the sequences of an earlier run; random by default.")
    private @Nullable Long seed;

    @Option(
            names = "--connections",
            paramLabel = "N",
            description = "Concurrent broken clients; ${DEFAULT-VALUE} by default.")
    private int connections;

    @Option(names = "--patience", paramLabel = "MS", description = "Time limit of health requests; 1000 by default.")
    private int patienceMillis = 1_000;

    /** @param connections the default */
    FuzzOptions(int connections) {
        this.connections = connections;
    }

    Path home() {
        return project.path();
    }

    /** The given seed, or a random one. */
    long seed() {
        return seed != null ? seed : ThreadLocalRandom.current().nextInt(1_000_000_000);
    }

    /** @param replay file with sequences to run instead of random ones, or null */
    FuzzRun.Settings settings(int seconds, long seed, @Nullable Path replay) {
        return new FuzzRun.Settings(home(), seconds, seed, connections, patienceMillis, replay);
    }
}

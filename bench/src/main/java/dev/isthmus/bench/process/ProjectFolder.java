package dev.isthmus.bench.process;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option for the project's folder, common to the commands that start its gateway. */
public final class ProjectFolder {
    @Option(
            names = "--home",
            paramLabel = "DIR",
            description = "The project, with the packaged gateway.",
            hidden = true)
    private Path home = Path.of(".");

    public Path path() {
        return home.toAbsolutePath().normalize();
    }
}

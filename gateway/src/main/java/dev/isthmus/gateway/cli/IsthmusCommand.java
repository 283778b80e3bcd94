package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Version;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code isthmus}; without a subcommand it serves. */
@Command(
        name = "isthmus",
        description = "One ingress in front of every server that speaks the Open Inference Protocol.",
        mixinStandardHelpOptions = true,
        versionProvider = IsthmusCommand.VersionText.class,
        subcommands = {
            IsthmusCommand.Serve.class,
            Training.class,
            ConfigCommands.Validate.class,
            ConfigCommands.Explain.class,
            ConfigCommands.Diff.class,
            ConfigCommands.Schema.class
        })
public final class IsthmusCommand implements Callable<Integer> {
    static final int REFUSED = 2;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    /**
     * The program.
     *
     * @param arguments as given; see {@code isthmus --help}
     */
    public static void main(String[] arguments) {
        int code = new CommandLine(new IsthmusCommand()).execute(arguments);
        if (code != 0) {
            System.exit(code);
        }
    }

    @Override
    public Integer call() {
        return new Serving(null, null, null, false).run(spec);
    }

    /** The version of the build. */
    static final class VersionText implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"isthmus " + Version.current()};
        }
    }

    /** Runs the gateway until the process is told to stop. */
    @Command(name = "serve", description = "Runs the gateway.", mixinStandardHelpOptions = true)
    static final class Serve implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Option(
                names = {"-c", "--config"},
                paramLabel = "FILE",
                description = "The configuration. Without it the embedded models are served.")
        private @Nullable Path config;

        @Option(
                names = {"-p", "--port"},
                paramLabel = "N",
                description = "Listen on this port instead of the configured ones; 0 for any that is free.")
        private @Nullable Integer port;

        @Option(
                names = "--host",
                paramLabel = "HOST",
                description = "Listen on this address instead of the configured ones.")
        private @Nullable String host;

        @Option(
                names = "--no-watch",
                description = "Do not reload the configuration when its file changes; SIGHUP still does.")
        private boolean unwatched;

        @Override
        public Integer call() {
            return new Serving(config, host, port, !unwatched).run(spec);
        }
    }
}

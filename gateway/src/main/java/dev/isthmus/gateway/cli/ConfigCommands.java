package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.config.ConfigDiff;
import dev.isthmus.gateway.config.ConfigException;
import dev.isthmus.gateway.config.ConfigLoader;
import dev.isthmus.gateway.config.ConfigSchema;
import dev.isthmus.gateway.config.GatewayConfig;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The commands about configuration files; none of them asks a server. */
final class ConfigCommands {
    private static final int DIFFERENT = 1;
    private static final int UNKNOWN = 1;
    private static final int REFUSED = 2;

    private ConfigCommands() {}

    /** Does something with the standard output, or tells what is wrong with a file. */
    private abstract static class OfConfig implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Override
        public Integer call() {
            try {
                return run(spec.commandLine().getOut());
            } catch (ConfigException e) {
                e.problems().forEach(spec.commandLine().getErr()::println);
                return REFUSED;
            }
        }

        abstract int run(PrintWriter out) throws ConfigException;
    }

    /** Checks a file. */
    @Command(name = "validate", description = "Checks a configuration file.", mixinStandardHelpOptions = true)
    static final class Validate extends OfConfig {
        @Parameters(paramLabel = "FILE", description = "The configuration.")
        @SuppressWarnings("NullAway.Init") // set by picocli
        private Path file;

        @Override
        int run(PrintWriter out) throws ConfigException {
            ConfigLoader.load(file);
            out.println(file + ": good");
            return 0;
        }
    }

    /** Prints the JSON Schema. */
    @Command(
            name = "schema",
            description = "Prints the JSON Schema of the configuration.",
            mixinStandardHelpOptions = true)
    static final class Schema extends OfConfig {
        @Override
        int run(PrintWriter out) {
            out.print(ConfigSchema.text());
            out.flush();
            return 0;
        }
    }

    /** Compares two files. */
    @Command(
            name = "diff",
            description = {
                "Says what a reload of NEW would change where OLD runs.",
                "Exit status: 0 nothing, 1 something, 2 a file is refused."
            },
            mixinStandardHelpOptions = true)
    static final class Diff extends OfConfig {
        @Parameters(index = "0", paramLabel = "OLD", description = "The configuration that runs.")
        @SuppressWarnings("NullAway.Init") // set by picocli
        private Path old;

        @Parameters(index = "1", paramLabel = "NEW", description = "The one that is to be loaded.")
        @SuppressWarnings("NullAway.Init") // set by picocli
        private Path recent;

        @Override
        int run(PrintWriter out) throws ConfigException {
            ConfigDiff diff = ConfigDiff.of(ConfigLoader.load(old), ConfigLoader.load(recent));
            diff.changes().forEach(out::println);
            diff.needRestart().forEach(each -> out.println("only after a restart: " + each));
            return diff.isEmpty() ? 0 : DIFFERENT;
        }
    }

    /** Explains a route. */
    @Command(
            name = "explain",
            description = {
                "Says where a call would go and what applies to it, from the configuration alone.",
                "Exit status: 0 it is taken, 1 the model is unknown, 2 the file is refused."
            })
    static final class Explain extends OfConfig {
        @Parameters(index = "0", paramLabel = "FILE", description = "The configuration.")
        @SuppressWarnings("NullAway.Init") // set by picocli
        private Path file;

        @Parameters(index = "1", paramLabel = "MODEL", description = "The name that the client asks for.")
        @SuppressWarnings("NullAway.Init") // set by picocli
        private String model;

        @Option(
                names = {"-h", "--help"},
                usageHelp = true,
                description = "Show this help message and exit.")
        @SuppressWarnings("UnusedVariable") // read by picocli; no standard options, as --version is the model's here
        private boolean help;

        @Option(names = "--version", paramLabel = "V", description = "The version or label that the client asks for.")
        private @Nullable String version;

        @Option(names = "--header", paramLabel = "NAME=VALUE", description = "A header of the call.")
        private Map<String, String> headers = Map.of();

        @Option(names = "--parameter", paramLabel = "NAME=VALUE", description = "A request parameter of the call.")
        private Map<String, String> parameters = Map.of();

        @Override
        int run(PrintWriter out) throws ConfigException {
            GatewayConfig config = ConfigLoader.load(file);
            Map<String, String> lowerCase = new TreeMap<>();
            headers.forEach((name, value) -> lowerCase.put(name.toLowerCase(Locale.ROOT), value));
            List<String> lines =
                    new Explanation(config, new Explanation.Question(model, version, lowerCase, parameters)).lines();
            lines.forEach(out::println);
            if (lines.isEmpty()) {
                out.println("model '" + model + "' is unknown: 404");
                return UNKNOWN;
            }
            return 0;
        }
    }
}

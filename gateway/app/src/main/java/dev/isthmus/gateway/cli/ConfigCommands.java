package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.explain.RouteExplanation;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSchema;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.commons.cli.Option;

/** The commands for configuration files; none of them connects to a server. */
final class ConfigCommands {
    private static final int DIFFERENT = 1;
    private static final int UNKNOWN = 1;

    private ConfigCommands() {}

    /** Writes to standard output, or reports the problems of a file. */
    private abstract static class ConfigCommand implements Command {
        private final String name;
        private final List<String> operands;
        private final List<String> description;

        ConfigCommand(String name, List<String> operands, String... description) {
            this.name = name;
            this.operands = operands;
            this.description = List.of(description);
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public List<String> description() {
            return description;
        }

        @Override
        public List<String> operands() {
            return operands;
        }

        @Override
        public int run(Arguments arguments, Console console) throws UsageException {
            try {
                return run(arguments, console.out());
            } catch (ConfigException e) {
                e.problems().forEach(console.err()::println);
                return IsthmusCommand.REFUSED;
            }
        }

        abstract int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException;
    }

    /** Prints the JSON Schema. */
    static final class Schema extends ConfigCommand {
        Schema() {
            super("schema", List.of(), "Prints the JSON Schema of the configuration.");
        }

        @Override
        int run(Arguments arguments, PrintWriter out) {
            out.print(ConfigSchema.text());
            out.flush();
            return 0;
        }
    }

    /** Compares the file of a running configuration with that of a new one. */
    static final class Diff extends ConfigCommand {
        Diff() {
            super(
                    "diff",
                    List.of("OLD", "NEW"),
                    "Says what a reload of NEW would change where OLD runs.",
                    "Exit status: 0 nothing, 1 something, 2 a file is refused.");
        }

        @Override
        int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException {
            ConfigDiff diff = ConfigDiff.of(ConfigLoader.load(arguments.file(0)), ConfigLoader.load(arguments.file(1)));
            diff.changes().forEach(out::println);
            diff.restarts().forEach(each -> out.println("a reload restarts: " + each));
            diff.needRestart().forEach(each -> out.println("only after a restart: " + each));
            return diff.isEmpty() ? 0 : DIFFERENT;
        }
    }

    /** Explains a route. */
    static final class Explain extends ConfigCommand {
        private static final Option VERSION = option("version", "V", "The version or label that the client requests.");
        private static final Option HEADER = option("header", "NAME=VALUE", "A header of the call.");
        private static final Option PARAMETER = option("parameter", "NAME=VALUE", "A request parameter of the call.");

        Explain() {
            super(
                    "explain",
                    List.of("FILE", "MODEL"),
                    "Says where a call would go and what applies to it, from the configuration alone.",
                    "MODEL is the name that the client requests.",
                    "Exit status: 0 it is taken, 1 the model is unknown, 2 the file is refused.");
        }

        private static final Option AS = option("as", "NAME", "Also says what this caller may do, and by which rule.");
        private static final Option GROUP =
                option("group", "NAME", "A group of the caller; may be given several times.");
        private static final Option CLAIM = option("claim", "NAME=VALUE", "A claim of the caller's token.");
        private static final Option LISTENER =
                option("listener", "HOST:PORT", "The listener; the first one if absent.");

        private static Option option(String name, String value, String description) {
            return Option.builder()
                    .longOpt(name)
                    .hasArg()
                    .argName(value)
                    .desc(description)
                    .get();
        }

        @Override
        public List<Option> options() {
            return List.of(VERSION, HEADER, PARAMETER, AS, GROUP, CLAIM, LISTENER);
        }

        @Override
        int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException {
            Map<String, String> headers = new TreeMap<>();
            arguments.pairs(HEADER).forEach((name, value) -> headers.put(name.toLowerCase(Locale.ROOT), value));
            String model = arguments.operand(1);
            RouteExplanation.ExplainedCall call = new RouteExplanation.ExplainedCall(
                    model, arguments.text(VERSION), headers, arguments.pairs(PARAMETER));
            GatewayConfig config = ConfigLoader.load(arguments.file(0));
            List<String> lines = new RouteExplanation(config, call).lines();
            lines.forEach(out::println);
            if (lines.isEmpty()) {
                out.println("model '" + model + "' is unknown: 404");
                return UNKNOWN;
            }
            String name = arguments.text(AS);
            if (name != null) {
                AccessExplanation.ExplainedCaller caller = new AccessExplanation.ExplainedCaller(
                        name, arguments.texts(GROUP), arguments.pairs(CLAIM), arguments.text(LISTENER));
                new AccessExplanation(config, caller).lines(call.requested()).forEach(out::println);
            }
            return 0;
        }
    }
}

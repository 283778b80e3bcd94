package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.explain.RouteExplanation;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSchema;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
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
    private abstract static class ConfigCommand extends Command {
        ConfigCommand(String name, List<String> operands, List<Option> options, String... description) {
            super(name, operands, options, description);
        }

        @Override
        int run(Arguments arguments, Console console) throws UsageException {
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
        private static final Option LAYERS = CommandOptions.valued(
                "layers", "FOLDER", "Also describes the settings of the layers that the jars of this folder bring.");

        Schema() {
            super("schema", List.of(), List.of(LAYERS), "Prints the JSON Schema of the configuration.");
        }

        @Override
        int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException {
            String folder = arguments.text(LAYERS);
            out.print(folder == null ? ConfigSchema.text() : ConfigSchema.text(Path.of(folder)));
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
                    List.of(),
                    "Says what a reload of NEW would change where OLD runs.",
                    "Lines after 'on reload' say what that does to ports, connections, ramps and other state.",
                    "Exit status: 0 nothing, 1 something, 2 a file is refused.");
        }

        @Override
        int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException {
            ConfigDiff diff = ConfigDiff.of(ConfigLoader.load(arguments.file(0)), ConfigLoader.load(arguments.file(1)));
            diff.changes().forEach(out::println);
            diff.effects().forEach(each -> out.println("on reload: " + each));
            diff.needRestart().forEach(each -> out.println("only after a restart: " + each));
            return diff.isEmpty() ? 0 : DIFFERENT;
        }
    }

    /** Explains a route. */
    static final class Explain extends ConfigCommand {
        private static final Option VERSION =
                CommandOptions.valued("version", "V", "The version or label that the client requests.");
        private static final Option HEADER = CommandOptions.valued("header", "NAME=VALUE", "A header of the call.");
        private static final Option PARAMETER =
                CommandOptions.valued("parameter", "NAME=VALUE", "A request parameter of the call.");

        Explain() {
            super(
                    "explain",
                    List.of("FILE", "MODEL"),
                    List.of(VERSION, HEADER, PARAMETER, AS, GROUP, CLAIM, LISTENER, OUTPUT),
                    "Says where a call would go and what applies to it, from the configuration alone.",
                    "MODEL is the name that the client requests.",
                    "Exit status: 0 it is taken, 1 the model is unknown, 2 the file is refused.");
        }

        private static final Option AS =
                CommandOptions.valued("as", "NAME", "Also says what this caller may do, and by which rule.");
        private static final Option GROUP =
                CommandOptions.valued("group", "NAME", "A group of the caller; may be given several times.");
        private static final Option CLAIM =
                CommandOptions.valued("claim", "NAME=VALUE", "A claim of the caller's token.");
        private static final Option LISTENER =
                CommandOptions.valued("listener", "HOST:PORT", "The listener; the first one if absent.");
        private static final Option OUTPUT = CommandOptions.output("Form of the output.", "text", "json");

        @Override
        int run(Arguments arguments, PrintWriter out) throws ConfigException, UsageException {
            Map<String, String> headers = new TreeMap<>();
            arguments.pairs(HEADER).forEach((name, value) -> headers.put(name.toLowerCase(Locale.ROOT), value));
            String model = arguments.operand(1);
            RouteExplanation.ExplainedCall call = new RouteExplanation.ExplainedCall(
                    model, arguments.text(VERSION), headers, arguments.pairs(PARAMETER));
            boolean json = arguments.word(OUTPUT).equals("json");
            GatewayConfig config = ConfigLoader.load(arguments.file(0));
            RouteExplanation explanation = new RouteExplanation(config, call);
            List<String> lines = new ArrayList<>(explanation.lines());
            boolean known = !lines.isEmpty();
            String name = arguments.text(AS);
            if (!known) {
                lines.add("model '" + model + "' is unknown: 404");
            } else if (name != null) {
                AccessExplanation.ExplainedCaller caller = new AccessExplanation.ExplainedCaller(
                        name, arguments.texts(GROUP), arguments.pairs(CLAIM), arguments.text(LISTENER));
                lines.addAll(new AccessExplanation(config, caller).lines(call.requested()));
            }
            if (json) {
                out.println(document(model, known, explanation.targets(), lines).toPrettyString());
            } else {
                lines.forEach(out::println);
            }
            out.flush();
            return known ? 0 : UNKNOWN;
        }

        private static ObjectNode document(
                String model, boolean known, List<RouteExplanation.ExplainedTarget> targets, List<String> lines) {
            ObjectNode document =
                    JsonNodeFactory.instance.objectNode().put("model", model).put("known", known);
            ArrayNode list = document.putArray("targets");
            targets.forEach(each -> list.addObject()
                    .put("name", each.name())
                    .put("share", each.share())
                    .put("upstream", each.upstream())
                    .put("model", each.model())
                    .put("version", each.version()));
            lines.forEach(document.putArray("explanation")::add);
            return document;
        }
    }
}

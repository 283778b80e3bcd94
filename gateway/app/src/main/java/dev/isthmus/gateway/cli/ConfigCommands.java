package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.explain.RouteExplanation;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ApiKeyFile.ApiKeyEntry;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSchema;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

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
                AccessExplanation access = new AccessExplanation(
                        config, name, arguments.texts(GROUP), arguments.pairs(CLAIM), arguments.text(LISTENER));
                lines.addAll(access.lines(call.requested()));
            }
            if (json) {
                out.println(document(model, known, explanation.targets(), lines).toPrettyString());
            } else {
                lines.forEach(out::println);
            }
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

    /**
     * Explains in text what a caller may do with a model, from the configuration alone.
     *
     * @param name of the caller; empty for one that is not identified
     * @param groups besides those in the file of API keys
     * @param claims of its token; a caller that is not in the file of API keys has one
     * @param listener null for the first one
     */
    record AccessExplanation(
            GatewayConfig config,
            String name,
            Set<String> groups,
            Map<String, String> claims,
            @Nullable String listener) {

        /** @throws ConfigException if the file of API keys cannot be read */
        List<String> lines(ModelRef model) throws ConfigException {
            Principal principal = principal();
            String on = listener == null ? config.listeners().getFirst().label() : listener;
            AccessPolicy policy = AccessPolicy.of(config);
            List<String> lines = new ArrayList<>();
            lines.add("caller: '" + principal.name() + "', identified by "
                    + principal.identifiedBy().name().toLowerCase(Locale.ROOT) + ", groups "
                    + new TreeSet<>(principal.groups())
                    + ", on listener " + on);
            for (Permission permission : Permission.values()) {
                AccessDecision decision = policy.onModel(principal, on, permission, model);
                lines.add("may " + permission.label() + ": " + reason(decision, permission));
            }
            return lines.stream().map(config.references()::masked).toList();
        }

        private String reason(AccessDecision decision, Permission permission) {
            if (config.access() != null) {
                return decision.allowed() ? "yes, by rule '" + decision.rule() + "'" : "no: no rule allows it";
            }
            if (!permission.management()) {
                return "yes: there is no section 'access'";
            }
            return decision.allowed()
                    ? "yes: the listener has 'management: allow'"
                    : "no: the listener has 'management: deny'";
        }

        private Principal principal() throws ConfigException {
            Set<String> all = new HashSet<>(groups);
            IdentifiedBy way = name.isEmpty() ? IdentifiedBy.NONE : IdentifiedBy.JWT;
            for (ApiKeyEntry entry : keys()) {
                if (entry.name().equals(name)) {
                    way = IdentifiedBy.API_KEY;
                    all.addAll(entry.groups());
                }
            }
            Map<String, Set<String>> values = new HashMap<>();
            claims.forEach((claim, value) -> values.put(claim, Set.of(value)));
            return new Principal(name, all, values, way);
        }

        private List<ApiKeyEntry> keys() throws ConfigException {
            AuthenticationConfig authentication = config.authentication();
            return authentication == null || authentication.apiKeys() == null
                    ? List.of()
                    : ApiKeyFile.read(authentication.apiKeys().file());
        }
    }
}

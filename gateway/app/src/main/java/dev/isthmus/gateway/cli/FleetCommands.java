package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.cli.RemoteCommand.Question;
import dev.isthmus.gateway.settings.LogArea;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** The commands that show what a running gateway knows of its servers and models. */
final class FleetCommands {
    private static final String LAST_ERRORS = "last_errors";
    private static final Option REASON =
            CommandOptions.valued("reason", "TEXT", "Why the server is drained: for those who look what is wrong.");
    private static final Option FORCE =
            CommandOptions.flag("force", "Drains the server though no other one of its upstream is ready.");
    private static final Option RAMP = CommandOptions.valued("model", "MODEL", "The model whose ramp --do changes.");
    private static final Option ACTION = CommandOptions.valued(
            "do", "pause|resume|restart|rollback", "Changes the ramp of --model. Needs the admin token.");
    private static final Option LEVEL = CommandOptions.valued(
            "level", "error|warn|info|debug|default", "The level; default: as configured. Needs the admin token.");
    private static final Option LOGGER = CommandOptions.valued(
            "logger",
            LogArea.labels().replace(", ", "|"),
            "The area that --level changes. Default: all but libraries.");
    private static final Option TIME =
            CommandOptions.valued("for", "TIME", "How long the level holds, at most 24h. Default: 10m.");

    private FleetCommands() {}

    static Question at(String path) {
        return (admin, arguments) -> admin.get(path);
    }

    /**
     * @param columns as {@link TextTable#print} takes them
     * @param rows the elements of the document
     */
    private static BiConsumer<JsonNode, Console> table(
            String columns, Function<JsonNode, Stream<? extends JsonNode>> rows) {
        return (document, console) -> TextTable.print(console.out(), columns, rows.apply(document));
    }

    static Stream<ObjectNode> objects(JsonNode list) {
        return list.valueStream().map(ObjectNode.class::cast);
    }

    private static String ratio(Object part, JsonNode all) {
        return part + "/" + all.size();
    }

    /** Lists the servers and their health, or takes one out of service and puts it into service again. */
    static RemoteCommand servers() {
        return new RemoteCommand(
                "servers",
                List.of("[ACTION]", "[ADDRESS]"),
                "Lists the servers of a running gateway, or takes one out of service: drain or enable ADDRESS.",
                FleetCommands::servers,
                FleetCommands::servers,
                REASON,
                FORCE);
    }

    private static JsonNode servers(AdminClient admin, Arguments arguments) throws Exception {
        String action = arguments.operands() == 0 ? "" : arguments.operand(0);
        boolean drains = action.equals("drain");
        String reason = arguments.text(REASON);
        if (!drains && (reason != null || arguments.has(FORCE))) {
            throw new UsageException("--reason and --force need drain ADDRESS");
        }
        if (action.isEmpty()) {
            return admin.get("/servers");
        }
        if (arguments.operands() != 2 || !(drains || action.equals("enable"))) {
            throw new UsageException("drain ADDRESS or enable ADDRESS is expected, got " + action);
        }
        return admin.post("/servers/" + AdminClient.segment(arguments.operand(1)) + "/" + action
                + (drains ? "?force=" + arguments.has(FORCE) : "")
                + query("reason", reason));
    }

    /** @param document lists servers, or says what became of one */
    static void servers(JsonNode document, Console console) {
        if (document.has("state")) {
            console.out().println(line(document.path("server")) + ": " + line(document.path("state")));
            return;
        }
        TextTable.print(
                console.out(),
                "UPSTREAM=upstream, SERVER=server, READY=ready, EJECTED=ejected, MODELS=models, DIALECT=dialect,"
                        + " NAME=name, VERSION=version, REASON=reason",
                objects(document.path("servers"))
                        .map(server -> server.put("models", readyModels(server.path("models")))
                                .put("dialect", dialect(server))));
    }

    private static String readyModels(JsonNode models) {
        return ratio(
                models.valueStream()
                        .filter(model -> model.path("ready").asBoolean())
                        .count(),
                models);
    }

    /** The dialect, and what it follows from. */
    static String dialect(JsonNode server) {
        String dialect = server.path("dialect").asText();
        return dialect.isEmpty() ? "-" : dialect + " (" + line(server.path("dialect_reason")) + ")";
    }

    /** Says what is wrong now; with the token also with which error calls failed last. */
    static RemoteCommand problems() {
        return new RemoteCommand(
                "problems",
                "Says what is wrong with a running gateway, its servers and models, with cause and next step.",
                FleetCommands::problems,
                FleetCommands::problems);
    }

    private static JsonNode problems(AdminClient admin, Arguments arguments) throws Exception {
        ObjectNode document = (ObjectNode) admin.get("/problems");
        if (arguments.has(CommandOptions.TOKEN)) {
            document.set(LAST_ERRORS, admin.get("/debug/errors?limit=5").path("servers"));
        }
        return document;
    }

    private static void problems(JsonNode document, Console console) {
        for (JsonNode problem : document.path("problems")) {
            console.out().println(line(problem.path("severity")) + ": " + line(problem.path("text")));
            console.out().println("  since: " + line(problem.path("since")));
            console.out().println("  cause: " + line(problem.path("cause")));
            lastError(problem.path("subject"), document.path(LAST_ERRORS))
                    .ifPresent(error -> console.out().println("  error: " + error));
            console.out().println("  next:  " + line(problem.path("next_step")));
        }
        int more = document.path("all").asInt() - document.path("problems").size();
        if (more > 0) {
            console.out().println(more + " more");
        }
        if (document.path("all").asInt() == 0) {
            console.out().println("nothing is wrong");
        }
    }

    /** The newest error of the server or model that a problem is about. */
    private static Optional<String> lastError(JsonNode subject, JsonNode servers) {
        if (!subject.has("upstream") && !subject.has("model")) {
            return Optional.empty();
        }
        return servers.valueStream()
                .filter(each -> isOf(subject, "upstream", each.path("upstream"))
                        && (each.path("server").asText().isEmpty() || isOf(subject, "server", each.path("server"))))
                .flatMap(each -> each.path("last").valueStream())
                .filter(error -> isOf(subject, "model", error.path("route")))
                .max(Comparator.comparing(error -> error.path("time").asText()))
                .map(FleetCommands::error);
    }

    private static boolean isOf(JsonNode subject, String name, JsonNode value) {
        return !subject.has(name) || subject.path(name).equals(value);
    }

    private static String error(JsonNode error) {
        return line(error.path("time")) + " " + line(error.path("code")) + ": " + line(error.path("text"));
    }

    /** Lists the last errors of calls, by server. */
    static RemoteCommand errors() {
        return new RemoteCommand(
                "errors",
                "Lists the last errors of calls to each server, the newest first. Needs the admin token.",
                at("/debug/errors?limit=5"),
                table(
                        "UPSTREAM=upstream, SERVER=server, ERRORS=errors, MODEL=route, REQUEST ID=request_id, ERROR=error",
                        document -> objects(document.path("servers"))
                                .flatMap(server -> objects(server.path("last"))
                                        .map(error ->
                                                error.put("error", error(error)).setAll(server)))));
    }

    /** Lists where servers of a model describe it differently. */
    static RemoteCommand drift() {
        return new RemoteCommand(
                "drift",
                "Lists where the servers of a model describe it differently.",
                at("/drift"),
                table(
                        "MODEL=model, UPSTREAM=upstream, SERVER=server, KIND=kind, SUBJECT=subject, MERGED=merged, SAID=said",
                        document -> objects(document.path("models"))
                                .flatMap(model -> objects(model.path("drift"))
                                        .map(each -> each.<JsonNode>set("model", model.path("name"))))));
    }

    /** Lists what the caches keep. */
    static RemoteCommand cache() {
        return new RemoteCommand(
                "cache",
                "Lists what the caches of a running gateway keep, and how many requests they answered.",
                at("/cache"),
                table(
                        "MODEL=model, RESPONSES=entries, BYTES=bytes, MAX BYTES=max_bytes, HIT=hit, MISS=miss,"
                                + " COLLAPSED=collapsed",
                        document -> objects(document.path("models"))));
    }

    /** Lists the gateways of a deployment. */
    static RemoteCommand gateways() {
        return new RemoteCommand(
                "gateways",
                "Lists the gateways that a running gateway knows, with their versions and configurations.",
                at("/gateways"),
                table(
                        "GATEWAY=name, STATE=shown, VERSION=version, CONFIGURATION=configuration, CALLS=calls,"
                                + " DIFFERS=differs, REASON=reason",
                        document -> objects(document.path("gateways")).map(FleetCommands::gateway)));
    }

    private static ObjectNode gateway(ObjectNode gateway) {
        StringJoiner differences = new StringJoiner(", ");
        if (gateway.path("other_version").asBoolean()) {
            differences.add("version");
        }
        gateway.path("differs_in").forEach(section -> differences.add(line(section)));
        gateway.put("differs", differences.toString());
        if (!gateway.path("reached").asBoolean()) {
            return gateway.put("shown", "not reached")
                    .put("version", "-")
                    .put("configuration", "-")
                    .put("calls", "-")
                    .set("reason", gateway.path("failure"));
        }
        return gateway.path("ready").asBoolean()
                ? gateway.put("shown", "serving")
                : gateway.put("shown", "not ready").set("reason", gateway.path("state"));
    }

    /** Lists what operators, callers and the gateway itself have changed. */
    static RemoteCommand audit() {
        return new RemoteCommand(
                "audit",
                "Lists who has changed what in a running gateway, the last changes first. Needs the admin token.",
                at("/audit"),
                table(
                        "TIME=time, WHO=who, FROM=from, ACTION=action, SUBJECT=subject, BEFORE=before, AFTER=after",
                        document -> objects(document.path("entries")).map(FleetCommands::entry)));
    }

    private static ObjectNode entry(ObjectNode entry) {
        String issuer = entry.path("issuer").asText();
        entry.put("who", entry.path("who").asText() + (issuer.isEmpty() ? "" : " (" + issuer + ")"));
        return entry.path("done").asBoolean()
                ? entry
                : entry.put("after", "not done: " + entry.path("failure").asText());
    }

    /** A further parameter of a query; empty without a value. */
    static String query(String name, @Nullable String value) {
        return value == null ? "" : "&" + name + "=" + AdminClient.segment(value);
    }

    /** A text of one line: names of models and servers are those of others. */
    static String line(JsonNode text) {
        return text.asText().replaceAll("\\p{Cntrl}", "?");
    }

    /** Lists the models and where they are. */
    static RemoteCommand models() {
        return new RemoteCommand(
                "models",
                "Lists the models of a running gateway, with their versions and servers.",
                at("/index"),
                FleetCommands::models);
    }

    private static void models(JsonNode document, Console console) {
        TextTable.print(
                console.out(),
                "MODEL=name, VERSION=version, STATE=state, SERVERS=servers, REASON=reason",
                objects(document.path("models"))
                        .map(model -> model.put(
                                "servers",
                                model.path("servers")
                                        .valueStream()
                                        .map(FleetCommands::place)
                                        .collect(Collectors.joining(", ")))));
        for (JsonNode failure : document.path("failures")) {
            console.err().println("not listed: upstream " + place(failure) + ": " + line(failure.path("reason")));
        }
        if (document.path("cut").asBoolean()) {
            console.err().println("the list is longer than a gateway keeps");
        }
    }

    static String place(JsonNode server) {
        return line(server.path("upstream")) + " " + line(server.path("server"));
    }

    /** Whether the gateway accepts traffic. */
    static RemoteCommand health() {
        return new RemoteCommand(
                "health",
                "Says whether a running gateway is ready; exits with 1 if it is not.",
                (admin, arguments) -> admin.ask("/ready"),
                (document, console) ->
                        console.out().println(document.path("error").asText("ready")));
    }

    /** Lists the shadows and their comparisons. */
    static RemoteCommand shadows() {
        return new RemoteCommand(
                "shadows",
                "Lists the shadows of a running gateway, with the differences that were found.",
                at("/shadows"),
                table(
                        "MODEL=model, SHADOW=shadow, ANSWERED=answered, FAILED=failed, EQUAL=equal, DIFFERENT=different,"
                                + " WORST=worst_difference, LAST MISMATCH=last_mismatch",
                        document -> objects(document).map(FleetCommands::shadow)));
    }

    private static ObjectNode shadow(ObjectNode shadow) {
        JsonNode requests = shadow.path("requests");
        JsonNode comparisons = shadow.path("comparisons");
        return shadow.put("answered", requests.path("answered").asText())
                .put(
                        "failed",
                        Stream.of("failed", "timeout", "dropped")
                                .mapToLong(each -> requests.path(each).asLong())
                                .sum())
                .put("equal", comparisons.path("equal").asText())
                .put("different", comparisons.path("different").asText());
    }

    /** Lists the ramps and their steps, or changes one. */
    static RemoteCommand ramps() {
        return new RemoteCommand(
                "ramps",
                "Lists the ramps of a running gateway, or changes one: --model MODEL --do pause.",
                FleetCommands::ramps,
                table(
                        "MODEL=model, TARGET=target, STATE=state, SHARE=share, STEP=step, ANSWERED=step_answered,"
                                + " ERRORS=errors, REASON=reason",
                        document -> objects(document).map(FleetCommands::ramp)),
                RAMP,
                ACTION);
    }

    private static JsonNode ramps(AdminClient admin, Arguments arguments) throws Exception {
        String model = arguments.text(RAMP);
        String action = arguments.text(ACTION);
        if (model == null && action == null) {
            return admin.get("/ramps");
        }
        if (model == null || action == null) {
            throw new UsageException("--model and --do are expected together");
        }
        return admin.post("/ramps/" + AdminClient.segment(model) + "/" + AdminClient.segment(action));
    }

    private static ObjectNode ramp(ObjectNode ramp) {
        String held = ramp.path("held").asText();
        return ramp.put("share", percent(ramp.path("share")))
                .put("step", ratio(ramp.path("step").asText(), ramp.path("steps")))
                .put("errors", percent(ramp.path("step_error_rate")))
                .put("reason", ramp.path("reason").asText() + (held.isEmpty() ? "" : "held: " + held));
    }

    private static String percent(JsonNode share) {
        return String.format(Locale.ROOT, "%.4g %%", share.asDouble() * 100);
    }

    /** What became of a call, by its request id. */
    static RemoteCommand call() {
        return new RemoteCommand(
                "call",
                List.of("REQUEST_ID"),
                "Says what became of a call: server, attempts, phases, error. Needs the admin token.",
                (admin, arguments) -> admin.get("/debug/calls/" + AdminClient.segment(arguments.operand(0))),
                table("FIELD=field, VALUE=value", FleetCommands::fields));
    }

    private static Stream<ObjectNode> fields(JsonNode call) {
        return call.properties().stream()
                .filter(field -> !field.getKey().equals("number"))
                .map(field -> JsonNodeFactory.instance
                        .objectNode()
                        .put("field", field.getKey())
                        .put(
                                "value",
                                field.getValue().isContainerNode()
                                        ? field.getValue().toString()
                                        : field.getValue().asText()))
                .filter(row -> !row.path("value").asText().isEmpty());
    }

    /** Lists the levels of the log of a running gateway, or changes them for a time. */
    static RemoteCommand logging() {
        return new RemoteCommand(
                "logging",
                "Lists the log levels of a running gateway, or sets one for a time: --level debug --for 10m.",
                FleetCommands::logging,
                table(
                        "LOGGER=logger, LEVEL=level, UNTIL=until, THEN=configured",
                        document -> document.path("loggers").properties().stream()
                                .map(each -> ((ObjectNode) each.getValue()).put("logger", each.getKey()))),
                LEVEL,
                LOGGER,
                TIME);
    }

    private static JsonNode logging(AdminClient admin, Arguments arguments) throws Exception {
        String level = arguments.text(LEVEL);
        String logger = arguments.text(LOGGER);
        String time = arguments.text(TIME);
        if (level == null && logger == null && time == null) {
            return admin.get("/logging");
        }
        if (level == null) {
            throw new UsageException("--logger and --for need --level");
        }
        return admin.post(
                "/logging?level=" + AdminClient.segment(level) + query("logger", logger) + query("for", time));
    }
}

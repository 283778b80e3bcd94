package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.commons.cli.Option;

/** The commands that show what a running gateway knows of its servers and models. */
final class FleetCommands {
    private FleetCommands() {}

    private static String yes(JsonNode node) {
        return node.asBoolean() ? "yes" : "no";
    }

    /** Lists the servers and their health. */
    static RemoteCommand servers() {
        return new RemoteCommand(
                "servers",
                "Lists the servers of a running gateway, with their health and the reason if they are not ready.",
                "/servers",
                FleetCommands::servers);
    }

    private static void servers(JsonNode document, Console console) {
        TextTable table = new TextTable("UPSTREAM", "SERVER", "READY", "EJECTED", "MODELS", "DIALECT", "REASON");
        for (JsonNode server : document.path("servers")) {
            int ready = 0;
            for (JsonNode model : server.path("models")) {
                ready += model.path("ready").asBoolean() ? 1 : 0;
            }
            table.row(
                    server.path("upstream").asText(),
                    server.path("server").asText(),
                    yes(server.path("ready")),
                    yes(server.path("ejected")),
                    ready + "/" + server.path("models").size(),
                    dialect(server),
                    server.path("reason").asText());
        }
        table.print(console.out());
    }

    /** The dialect, and what it follows from. */
    private static String dialect(JsonNode server) {
        String dialect = server.path("dialect").asText();
        return dialect.isEmpty() ? "-" : dialect + " (" + line(server.path("dialect_reason")) + ")";
    }

    /** Says what is wrong now; with the token also with which error calls failed last. */
    static final class ProblemsCommand extends RemoteCommand {
        private static final String LAST_ERRORS = "last_errors";

        ProblemsCommand() {
            super(
                    "problems",
                    "Says what is wrong with a running gateway, its servers and models, with cause and next step.",
                    "/problems",
                    ProblemsCommand::print);
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            ObjectNode document = (ObjectNode) super.document(admin, arguments);
            if (arguments.has(ServerOptions.TOKEN)) {
                document.set(LAST_ERRORS, admin.get("/debug/errors?limit=5").path("servers"));
            }
            return document;
        }

        private static void print(JsonNode document, Console console) {
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
    }

    private static String error(JsonNode error) {
        return line(error.path("time")) + " " + line(error.path("code")) + ": " + line(error.path("text"));
    }

    /** Lists the last errors of calls, by server. */
    static RemoteCommand errors() {
        return new RemoteCommand(
                "errors",
                "Lists the last errors of calls to each server, the newest first. Needs the admin token.",
                "/debug/errors?limit=5",
                FleetCommands::errors);
    }

    private static void errors(JsonNode document, Console console) {
        TextTable table = new TextTable("UPSTREAM", "SERVER", "ERRORS", "MODEL", "REQUEST ID", "ERROR");
        for (JsonNode server : document.path("servers")) {
            for (JsonNode error : server.path("last")) {
                table.row(
                        line(server.path("upstream")),
                        line(server.path("server")),
                        server.path("errors").asText(),
                        line(error.path("route")),
                        line(error.path("request_id")),
                        error(error));
            }
        }
        table.print(console.out());
    }

    /** Lists where servers of a model describe it differently. */
    static RemoteCommand drift() {
        return new RemoteCommand(
                "drift", "Lists where the servers of a model describe it differently.", "/drift", FleetCommands::drift);
    }

    private static void drift(JsonNode document, Console console) {
        TextTable table = new TextTable("MODEL", "UPSTREAM", "SERVER", "KIND", "SUBJECT", "MERGED", "SAID");
        for (JsonNode model : document.path("models")) {
            for (JsonNode difference : model.path("drift")) {
                table.row(
                        line(model.path("name")),
                        line(difference.path("upstream")),
                        line(difference.path("server")),
                        line(difference.path("kind")),
                        line(difference.path("subject")),
                        line(difference.path("merged")),
                        line(difference.path("said")));
            }
        }
        table.print(console.out());
    }

    /** Lists what the caches keep. */
    static RemoteCommand cache() {
        return new RemoteCommand(
                "cache",
                "Lists what the caches of a running gateway keep, and how many requests they answered.",
                "/cache",
                FleetCommands::cache);
    }

    private static void cache(JsonNode document, Console console) {
        TextTable table = new TextTable("MODEL", "RESPONSES", "BYTES", "MAX BYTES", "HIT", "MISS", "COLLAPSED");
        for (JsonNode model : document.path("models")) {
            table.row(
                    line(model.path("model")),
                    model.path("entries").asText(),
                    model.path("bytes").asText(),
                    model.path("max_bytes").asText(),
                    model.path("hit").asText(),
                    model.path("miss").asText(),
                    model.path("collapsed").asText());
        }
        table.print(console.out());
    }

    /** Lists the gateways of a deployment. */
    static RemoteCommand gateways() {
        return new RemoteCommand(
                "gateways",
                "Lists the gateways that a running gateway knows, with their versions and configurations.",
                "/gateways",
                FleetCommands::gateways);
    }

    private static void gateways(JsonNode document, Console console) {
        TextTable table = new TextTable("GATEWAY", "STATE", "VERSION", "CONFIGURATION", "CALLS", "DIFFERS", "REASON");
        for (JsonNode gateway : document.path("gateways")) {
            boolean reached = gateway.path("reached").asBoolean();
            boolean ready = gateway.path("ready").asBoolean();
            StringJoiner differences = new StringJoiner(", ");
            if (gateway.path("other_version").asBoolean()) {
                differences.add("version");
            }
            gateway.path("differs_in").forEach(section -> differences.add(line(section)));
            table.row(
                    line(gateway.path("name")),
                    !reached ? "not reached" : ready ? "serving" : "not ready",
                    reached ? line(gateway.path("version")) : "-",
                    reached ? line(gateway.path("configuration")) : "-",
                    reached ? gateway.path("calls").asText() : "-",
                    differences.toString(),
                    !reached ? line(gateway.path("failure")) : ready ? "" : line(gateway.path("state")));
        }
        table.print(console.out());
    }

    /** Lists what operators, callers and the gateway itself have changed. */
    static RemoteCommand audit() {
        return new RemoteCommand(
                "audit",
                "Lists who has changed what in a running gateway, the last changes first. Needs the admin token.",
                "/audit",
                FleetCommands::audit);
    }

    private static void audit(JsonNode document, Console console) {
        TextTable table = new TextTable("TIME", "WHO", "FROM", "ACTION", "SUBJECT", "BEFORE", "AFTER");
        for (JsonNode entry : document.path("entries")) {
            boolean done = entry.path("done").asBoolean();
            table.row(
                    entry.path("time").asText(),
                    line(entry.path("who"))
                            + (entry.path("issuer").asText().isEmpty() ? "" : " (" + line(entry.path("issuer")) + ")"),
                    line(entry.path("from")),
                    line(entry.path("action")),
                    line(entry.path("subject")),
                    line(entry.path("before")),
                    done ? line(entry.path("after")) : "not done: " + line(entry.path("failure")));
        }
        table.print(console.out());
    }

    /** A text of one line: names of models and servers are those of others. */
    private static String line(JsonNode text) {
        return text.asText().replaceAll("\\p{Cntrl}", "?");
    }

    /** Lists the models and where they are. */
    static RemoteCommand models() {
        return new RemoteCommand(
                "models",
                "Lists the models of a running gateway, with their versions and servers.",
                "/index",
                FleetCommands::models);
    }

    private static void models(JsonNode document, Console console) {
        TextTable table = new TextTable("MODEL", "VERSION", "STATE", "SERVERS", "REASON");
        for (JsonNode model : document.path("models")) {
            StringJoiner servers = new StringJoiner(", ");
            for (JsonNode server : model.path("servers")) {
                servers.add(server.path("upstream").asText() + " "
                        + server.path("server").asText());
            }
            table.row(
                    model.path("name").asText(),
                    model.path("version").asText(),
                    model.path("state").asText(),
                    servers.toString(),
                    model.path("reason").asText());
        }
        table.print(console.out());
        for (JsonNode failure : document.path("failures")) {
            console.err()
                    .println("not listed: upstream "
                            + failure.path("upstream").asText() + " "
                            + failure.path("server").asText() + ": "
                            + failure.path("reason").asText());
        }
        if (document.path("cut").asBoolean()) {
            console.err().println("the list is longer than a gateway keeps");
        }
    }

    /** Whether the gateway accepts traffic. */
    static final class HealthCommand extends RemoteCommand {
        HealthCommand() {
            super(
                    "health",
                    "Says whether a running gateway is ready; exits with 1 if it is not.",
                    "/ready",
                    (document, console) -> console.out()
                            .println(
                                    document.path("ready").asBoolean()
                                            ? "ready"
                                            : document.path("error").asText()));
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            return admin.ask("/ready");
        }

        @Override
        int exitCode(JsonNode document) {
            return document.path("ready").asBoolean() ? 0 : 1;
        }
    }

    /** Lists the shadows and their comparisons. */
    static RemoteCommand shadows() {
        return new RemoteCommand(
                "shadows",
                "Lists the shadows of a running gateway, with the differences that were found.",
                "/shadows",
                FleetCommands::shadows);
    }

    private static void shadows(JsonNode document, Console console) {
        TextTable table =
                new TextTable("MODEL", "SHADOW", "ANSWERED", "FAILED", "EQUAL", "DIFFERENT", "WORST", "LAST MISMATCH");
        for (JsonNode shadow : document) {
            JsonNode requests = shadow.path("requests");
            JsonNode comparisons = shadow.path("comparisons");
            table.row(
                    shadow.path("model").asText(),
                    shadow.path("shadow").asText(),
                    requests.path("answered").asText(),
                    Long.toString(requests.path("failed").asLong()
                            + requests.path("timeout").asLong()
                            + requests.path("dropped").asLong()),
                    comparisons.path("equal").asText(),
                    comparisons.path("different").asText(),
                    shadow.path("worst_difference").asText(),
                    shadow.path("last_mismatch").asText());
        }
        table.print(console.out());
    }

    /** The ramps and their steps. */
    static final class RampsCommand extends RemoteCommand {
        private static final Option MODEL =
                CommandOptions.valued("model", "MODEL", "The model whose ramp --do changes.");
        private static final Option ACTION = CommandOptions.valued(
                "do", "pause|resume|restart|rollback", "Changes the ramp of --model. Needs the admin token.");

        RampsCommand() {
            super(
                    "ramps",
                    "Lists the ramps of a running gateway, or changes one: --model MODEL --do pause.",
                    "/ramps",
                    RampsCommand::print,
                    MODEL,
                    ACTION);
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            String model = arguments.text(MODEL);
            String action = arguments.text(ACTION);
            if (model == null && action == null) {
                return super.document(admin, arguments);
            }
            if (model == null || action == null) {
                throw new UsageException("--model and --do are expected together");
            }
            return admin.post("/ramps/" + AdminClient.segment(model) + "/" + AdminClient.segment(action));
        }

        private static void print(JsonNode document, Console console) {
            TextTable table =
                    new TextTable("MODEL", "TARGET", "STATE", "SHARE", "STEP", "ANSWERED", "ERRORS", "REASON");
            for (JsonNode ramp : document) {
                table.row(
                        ramp.path("model").asText(),
                        ramp.path("target").asText(),
                        ramp.path("state").asText(),
                        percent(ramp.path("share")),
                        ramp.path("step").asText() + "/" + ramp.path("steps").size(),
                        ramp.path("step_answered").asText(),
                        percent(ramp.path("step_error_rate")),
                        ramp.path("reason").asText() + held(ramp));
            }
            table.print(console.out());
        }

        private static String held(JsonNode ramp) {
            String held = ramp.path("held").asText();
            return held.isEmpty() ? "" : "held: " + held;
        }

        private static String percent(JsonNode share) {
            return String.format(Locale.ROOT, "%.4g %%", share.asDouble() * 100);
        }
    }
}

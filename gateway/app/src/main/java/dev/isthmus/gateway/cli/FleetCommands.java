package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import org.apache.commons.cli.Option;

/** The commands that show what a running gateway knows of its servers and models. */
final class FleetCommands {
    private FleetCommands() {}

    private static String yes(JsonNode node) {
        return node.asBoolean() ? "yes" : "no";
    }

    /** The servers and their health. */
    static final class ServersCommand extends RemoteCommand {
        @Override
        public String name() {
            return "servers";
        }

        @Override
        public List<String> description() {
            return List.of(
                    "Lists the servers of a running gateway, with their health and the reason if they are not ready.");
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            return admin.get("/servers");
        }

        @Override
        int print(JsonNode document, Console console) {
            TextTable table = new TextTable("UPSTREAM", "SERVER", "READY", "EJECTED", "MODELS", "REASON");
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
                        server.path("reason").asText());
            }
            table.print(console.out());
            return 0;
        }
    }

    /** The models and where they are. */
    static final class ModelsCommand extends RemoteCommand {
        @Override
        public String name() {
            return "models";
        }

        @Override
        public List<String> description() {
            return List.of("Lists the models of a running gateway, with their versions and servers.");
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            return admin.get("/index");
        }

        @Override
        int print(JsonNode document, Console console) {
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
            return 0;
        }
    }

    /** Whether the gateway accepts traffic. */
    static final class HealthCommand extends RemoteCommand {
        @Override
        public String name() {
            return "health";
        }

        @Override
        public List<String> description() {
            return List.of("Says whether a running gateway is ready; exits with 1 if it is not.");
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            return admin.ask("/ready").document();
        }

        @Override
        int print(JsonNode document, Console console) {
            boolean ready = document.path("ready").asBoolean();
            console.out().println(ready ? "ready" : document.path("error").asText());
            return exitCode(document);
        }

        @Override
        int exitCode(JsonNode document) {
            return document.path("ready").asBoolean() ? 0 : 1;
        }
    }

    /** The shadows and their comparisons. */
    static final class ShadowsCommand extends RemoteCommand {
        @Override
        public String name() {
            return "shadows";
        }

        @Override
        public List<String> description() {
            return List.of("Lists the shadows of a running gateway, with the differences that were found.");
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            return admin.get("/shadows");
        }

        @Override
        int print(JsonNode document, Console console) {
            TextTable table = new TextTable(
                    "MODEL", "SHADOW", "ANSWERED", "FAILED", "EQUAL", "DIFFERENT", "WORST", "LAST MISMATCH");
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
            return 0;
        }
    }

    /** The ramps and their steps. */
    static final class RampsCommand extends RemoteCommand {
        private static final Option MODEL = Option.builder()
                .longOpt("model")
                .hasArg()
                .argName("MODEL")
                .desc("The model whose ramp --do changes.")
                .get();
        private static final Option ACTION = CommandOptions.valued(
                "do", "pause|resume|restart|rollback", "Changes the ramp of --model. Needs the admin token.");

        @Override
        public String name() {
            return "ramps";
        }

        @Override
        public List<String> description() {
            return List.of("Lists the ramps of a running gateway, or changes one: --model MODEL --do pause.");
        }

        @Override
        List<Option> furtherOptions() {
            return List.of(MODEL, ACTION);
        }

        @Override
        JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
            String model = arguments.text(MODEL);
            String action = arguments.text(ACTION);
            if (model == null && action == null) {
                return admin.get("/ramps");
            }
            if (model == null || action == null) {
                throw new UsageException("--model and --do are expected together");
            }
            return admin.post("/ramps/" + AdminClient.segment(model) + "/" + AdminClient.segment(action));
        }

        @Override
        int print(JsonNode document, Console console) {
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
                        ramp.path("reason").asText());
            }
            table.print(console.out());
            return 0;
        }

        private static String percent(JsonNode share) {
            return String.format(Locale.ROOT, "%.4g %%", share.asDouble() * 100);
        }
    }
}

package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.LogArea;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** The levels of the log of a running gateway, and their change for a time. */
final class LoggingCommand extends RemoteCommand {
    private static final Option LEVEL = CommandOptions.valued(
            "level", "error|warn|info|debug|default", "The level; default: as configured. Needs the admin token.");
    private static final Option LOGGER = CommandOptions.valued(
            "logger",
            LogArea.labels().replace(", ", "|"),
            "The area that --level changes. Default: all but libraries.");
    private static final Option TIME =
            CommandOptions.valued("for", "TIME", "How long the level holds, at most 24h. Default: 10m.");

    LoggingCommand() {
        super(
                "logging",
                "Lists the log levels of a running gateway, or sets one for a time: --level debug --for 10m.",
                "/logging",
                LoggingCommand::print,
                LEVEL,
                LOGGER,
                TIME);
    }

    @Override
    JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
        String level = arguments.text(LEVEL);
        String logger = arguments.text(LOGGER);
        String time = arguments.text(TIME);
        if (level == null && logger == null && time == null) {
            return super.document(admin, arguments);
        }
        if (level == null) {
            throw new UsageException("--logger and --for need --level");
        }
        return admin.post(
                "/logging?level=" + AdminClient.segment(level) + query("logger", logger) + query("for", time));
    }

    private static String query(String name, @Nullable String value) {
        return value == null ? "" : "&" + name + "=" + AdminClient.segment(value);
    }

    private static void print(JsonNode document, Console console) {
        TextTable.print(
                console.out(),
                "LOGGER=logger, LEVEL=level, UNTIL=until, THEN=configured",
                document.path("loggers").properties().stream()
                        .map(each -> ((ObjectNode) each.getValue()).put("logger", each.getKey())));
    }
}

package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.cli.RemoteCommand.RemoteOptions;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.commons.cli.Option;

/** Prints calls of a running gateway as they end: those of a view of {@code /debug/calls} of its own. */
final class TapCommand extends RemoteCommand {
    private static final String PATH = "/debug/calls";
    private static final Option MODEL =
            CommandOptions.valued("model", "TEXT", "Only calls of models whose name has this text.");
    private static final Option CODE = CommandOptions.valued(
            "code", "CODE", "Only calls with this status (5xx, 503), code (UNAVAILABLE) or cause (no_server).");
    private static final Option CALLER =
            CommandOptions.valued("caller", "TEXT", "Only calls of callers whose name has this text.");
    private static final Option UPSTREAM = CommandOptions.valued(
            "upstream", "TEXT", "Only calls to upstreams whose name, or servers whose address has this text.");
    private static final Option COUNT = CommandOptions.valued("n", "count", "N", "Ends after so many calls.");

    private static final int MAX_COUNT = 1_000_000;
    /** Within it, an event loop keeps fewer calls than it has places for. */
    private static final long INTERVAL_MILLIS = 500;

    TapCommand() {
        super("tap", """
                Prints the calls of a running gateway as they end, until interrupted. Needs the admin token.
                The gateway selects them, and keeps so many in a second; how many are missing is said.
                """, FleetCommands.at(PATH), (calls, console) -> {}, MODEL, CODE, CALLER, UPSTREAM, COUNT);
    }

    @Override
    int run(AdminClient admin, RemoteOptions options, Arguments arguments, Console console) throws Exception {
        Integer count = arguments.number(COUNT, 1, MAX_COUNT);
        String path = PATH + "?view=tap-" + UUID.randomUUID()
                + FleetCommands.query("model", arguments.text(MODEL))
                + FleetCommands.query("code", arguments.text(CODE))
                + FleetCommands.query("caller", arguments.text(CALLER))
                + FleetCommands.query("server", arguments.text(UPSTREAM))
                + "&after=";
        long left = count == null ? Long.MAX_VALUE : count;
        long last = 0;
        // Of the view: calls that matched before this look, that were printed, and that were said to be missing.
        long matching = 0;
        long printed = 0;
        long missing = 0;
        while (true) {
            JsonNode document = admin.get(path + last);
            long now = document.path("matching_calls").asLong();
            if (now < matching || document.path("last_number").asLong() < last) {
                console.err()
                        .println("isthmus tap: calls are missing: the gateway was not asked for 10 s, or has begun"
                                + " again");
                last = 0;
                matching = 0;
                printed = 0;
                missing = 0;
            }
            // The newest is the first.
            JsonNode calls = document.path("calls");
            for (int i = calls.size() - 1; i >= 0 && left > 0; i--, left--, printed++) {
                last = calls.path(i).path("number").asLong();
                console.out().println(options.json() ? calls.path(i).toString() : text(calls.path(i)));
            }
            if (matching - printed > missing) {
                console.err()
                        .println("isthmus tap: " + (matching - printed - missing)
                                + " calls are missing: there are more than the gateway keeps; select fewer");
                missing = matching - printed;
            }
            matching = now;
            if (console.out().checkError() || left == 0) {
                return 0;
            }
            Thread.sleep(INTERVAL_MILLIS);
        }
    }

    private static String text(JsonNode call) {
        String reason = FleetCommands.line(call.path("reason"));
        return Stream.of("time", "status", "code", "cause", "model", "caller", "upstream", "server", "request_id")
                        .filter(name -> !call.path(name).asText().isEmpty())
                        .map(name -> (name.equals("time") || name.equals("status") ? "" : name + "=")
                                + FleetCommands.line(call.path(name)))
                        .collect(Collectors.joining(" "))
                + " ms=" + call.path("duration_ms").asText() + (reason.isEmpty() ? "" : ": " + reason);
    }
}

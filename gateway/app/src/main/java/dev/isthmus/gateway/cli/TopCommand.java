package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.cli.RemoteCommand.RemoteOptions;
import dev.isthmus.gateway.settings.Units;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.Option;

/** Shows the traffic of a running gateway, by model and by server. */
final class TopCommand extends RemoteCommand {
    private static final String PATH = "/console/rates";
    private static final Option ONCE = CommandOptions.flag("once", "Print the rates and end, as without a terminal.");
    private static final Option INTERVAL =
            CommandOptions.valued("interval", "TIME", "Time between two looks at the gateway; default 5s.");

    TopCommand() {
        super(
                "top",
                """
                Shows the traffic of a running gateway by model and server, until interrupted.
                Only inferences count. FAILED/S: because of a server or the gateway; REJECTED/S: because of the client.
                """,
                FleetCommands.at(PATH),
                (rates, to) -> lines(rates).forEach(to.out()::println),
                ONCE,
                INTERVAL);
    }

    /** On a terminal, ends when the thread is interrupted, or with the process. */
    @Override
    int run(AdminClient admin, RemoteOptions options, Arguments arguments, Console console) throws Exception {
        Duration interval = arguments.duration(INTERVAL, "5s");
        if (!console.terminal().getAsBoolean() || arguments.has(ONCE) || options.json()) {
            return super.run(admin, options, arguments, console);
        }
        List<String> shown = lines(admin.get(PATH));
        try (LiveScreen screen = new LiveScreen(console.out())) {
            while (true) {
                List<String> frame = new ArrayList<>(
                        List.of(options.admin() + ", every " + Units.written(interval) + "; Ctrl-C ends"));
                frame.addAll(shown);
                screen.show(frame);
                Thread.sleep(interval);
                try {
                    shown = lines(admin.get(PATH));
                } catch (IOException e) {
                    shown = List.of(String.valueOf(e.getMessage()));
                }
            }
        }
    }

    private static List<String> lines(JsonNode rates) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        JsonNode models = rates.path("models");
        out.println(rate(sum(models, "requests_per_second")) + " requests/s, "
                + rate(sum(models, "failed_per_second")) + " failed/s, "
                + rate(sum(models, "rejected_per_second")) + " rejected/s, "
                + (long) sum(models, "in_flight") + " in flight");
        out.println();
        TextTable.print(
                out,
                "MODEL=model, REQUESTS/S=requests_per_second, FAILED/S=failed_per_second,"
                        + " REJECTED/S=rejected_per_second, P50 MS=p50_ms, P99 MS=p99_ms, IN FLIGHT=in_flight",
                models.valueStream().map(TopCommand::written));
        out.println();
        TextTable.print(
                out,
                "UPSTREAM=upstream, SERVER=server, HEALTH=health, REQUESTS/S=requests_per_second,"
                        + " FAILED/S=failed_per_second, ERRORS/S=errors_per_second, IN FLIGHT=in_flight",
                rates.path("servers")
                        .valueStream()
                        .map(server -> written(server).put("health", health(server))));
        return text.toString().lines().toList();
    }

    private static double sum(JsonNode models, String figure) {
        return models.valueStream()
                .mapToDouble(each -> each.path(figure).asDouble())
                .sum();
    }

    /** With numbers as people read them. */
    private static ObjectNode written(JsonNode figures) {
        ObjectNode written = figures.deepCopy();
        figures.properties().stream()
                .filter(each -> each.getValue().isNumber())
                .forEach(each -> written.put(each.getKey(), rate(each.getValue().asDouble())));
        return written.put("in_flight", figures.path("in_flight").asLong());
    }

    private static String health(JsonNode server) {
        if (!server.path("ready").asBoolean()) {
            return "not ready";
        }
        return server.path("ejected").asBoolean() ? "ejected" : "ready";
    }

    private static String rate(double perSecond) {
        return String.format(Locale.ROOT, "%.1f", perSecond);
    }

    /**
     * Shows changing text on a terminal's alternate screen, until it is closed: what was on the terminal before appears
     * again then, also if the process is interrupted.
     */
    static final class LiveScreen implements AutoCloseable {
        private static final String BEGIN = "\033[?1049h\033[?25l";
        private static final String HOME = "\033[H";
        private static final String END_OF_LINE = "\033[K\r\n";
        private static final String CLEAR_BELOW = "\033[J";
        private static final String END = "\033[?25h\033[?1049l";
        private static final int ROWS = 24;
        private static final int COLUMNS = 80;

        private final PrintWriter out;
        private final Thread atEnd = new Thread(this::restore, "isthmus-terminal");
        private boolean restored;

        LiveScreen(PrintWriter out) {
            this.out = out;
            Runtime.getRuntime().addShutdownHook(atEnd);
            out.print(BEGIN);
            out.flush();
        }

        /** Replaces the text; what does not fit is cut. */
        synchronized void show(List<String> lines) {
            if (restored) {
                return;
            }
            int[] size = size();
            StringBuilder frame = new StringBuilder(HOME);
            for (String line : lines.subList(0, Math.min(lines.size(), size[0] - 1))) {
                frame.append(line, 0, Math.min(line.length(), size[1])).append(END_OF_LINE);
            }
            out.print(frame.append(CLEAR_BELOW));
            out.flush();
        }

        /** Rows and columns, as the terminal has them now. */
        private static int[] size() {
            try {
                Process stty = new ProcessBuilder("stty", "size")
                        .redirectInput(ProcessBuilder.Redirect.INHERIT)
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
                String text = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
                if (text.matches("[1-9][0-9]{0,4} [1-9][0-9]{0,4}")) {
                    String[] parts = text.split(" ", 2);
                    return new int[] {Integer.parseInt(parts[0]), Integer.parseInt(parts[1])};
                }
            } catch (IOException e) {
                // No such command: the usual size.
            }
            return new int[] {ROWS, COLUMNS};
        }

        private synchronized void restore() {
            if (!restored) {
                restored = true;
                out.print(END);
                out.flush();
            }
        }

        @Override
        public void close() {
            restore();
            try {
                Runtime.getRuntime().removeShutdownHook(atEnd);
            } catch (IllegalStateException e) {
                // The process ends, and the hook runs.
            }
        }
    }
}

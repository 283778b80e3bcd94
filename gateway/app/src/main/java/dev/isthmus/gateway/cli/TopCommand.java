package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.cli.AdminClient.AdminException;
import dev.isthmus.gateway.cli.TopCommand.FleetRates.FleetSample;
import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.settings.Units;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.commons.cli.Option;

/** Shows the traffic of a running gateway, by model and by server. */
final class TopCommand extends Command {
    private static final Option ONCE =
            CommandOptions.flag("once", "Print the rates of one interval and end, as without a terminal.");
    private static final Option INTERVAL =
            CommandOptions.valued("interval", "TIME", "Time between two looks at the gateway; default 2s.");

    TopCommand() {
        super(
                "top",
                List.of(),
                RemoteOptions.with(ONCE, INTERVAL),
                "Shows the traffic of a running gateway by model and server, until interrupted.",
                "Only inferences count. FAILED/S: because of a server or the gateway; REJECTED/S: because of the client.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        RemoteOptions options = RemoteOptions.of(arguments);
        Duration interval = arguments.duration(INTERVAL, "2s");
        try (AdminClient admin = new AdminClient(options)) {
            FleetSample first = sample(admin);
            if (console.terminal().getAsBoolean() && !arguments.has(ONCE) && !options.json()) {
                live(admin, first, interval, options, console);
                return 0;
            }
            Thread.sleep(interval);
            ObjectNode rates = FleetRates.between(first, sample(admin));
            if (options.json()) {
                console.out().println(rates.toPrettyString());
            } else {
                lines(rates).forEach(console.out()::println);
            }
            console.out().flush();
            return 0;
        } catch (AdminException e) {
            console.err().println("isthmus top: " + e.getMessage());
            return 1;
        }
    }

    private static FleetSample sample(AdminClient admin) throws AdminException, InterruptedException {
        JsonNode servers = admin.get("/servers?models=not_ready");
        JsonNode models = admin.get("/console/totals");
        return new FleetSample(System.nanoTime(), models, servers);
    }

    /** Ends when the thread is interrupted, or with the process. */
    private static void live(
            AdminClient admin, FleetSample first, Duration interval, RemoteOptions options, Console console)
            throws InterruptedException {
        FleetSample before = first;
        try (LiveScreen screen = new LiveScreen(console.out())) {
            List<String> shown = lines(FleetRates.between(first, first));
            while (true) {
                List<String> frame = new ArrayList<>(
                        List.of(options.admin() + ", every " + Units.written(interval) + "; Ctrl-C ends"));
                frame.addAll(shown);
                screen.show(frame);
                Thread.sleep(interval);
                try {
                    FleetSample now = sample(admin);
                    shown = lines(FleetRates.between(before, now));
                    before = now;
                } catch (AdminException e) {
                    shown = List.of(String.valueOf(e.getMessage()));
                }
            }
        }
    }

    private static List<String> lines(ObjectNode rates) {
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

    /** What happened between two samples. Only inferences count. */
    static final class FleetRates {
        private static final double MILLIS = 1000;

        private FleetRates() {}

        /**
         * What a gateway has counted at one moment.
         *
         * @param nanos on the scale of {@link System#nanoTime()}
         * @param models the document {@code /console/totals}
         * @param servers the document {@code /servers}
         */
        record FleetSample(long nanos, JsonNode models, JsonNode servers) {}

        /**
         * The rates from one sample to the next, of models, the busiest first, and of servers, in the gateway's order.
         * Counters that fell, as after a restart, count from 0.
         */
        static ObjectNode between(FleetSample before, FleetSample after) {
            double seconds = Math.max(1, after.nanos() - before.nanos()) / (double) TimeUnit.SECONDS.toNanos(1);
            ObjectNode rates = JsonNodeFactory.instance.objectNode().put("seconds", seconds);
            List<ObjectNode> models = new ArrayList<>();
            Map<JsonNode, JsonNode> earlier = byName(before.models().path("models"), "model");
            for (JsonNode now : after.models().path("models")) {
                JsonNode then = earlier.get(key(now, "model"));
                CallTotals calls = CallTotals.of(now).grownSince(then == null ? null : CallTotals.of(then));
                String name = now.path("model").asText();
                models.add(model(name, calls, seconds)
                        .put(
                                "in_flight",
                                after.models().path("in_flight").path(name).asDouble()));
            }
            models.sort(Comparator.comparing((ObjectNode each) ->
                            each.path("requests_per_second").asDouble())
                    .reversed()
                    .thenComparing(each -> each.path("model").asText()));
            rates.putArray("models").addAll(models);
            ArrayNode servers = rates.putArray("servers");
            earlier = byName(before.servers().path("servers"), "upstream", "server");
            for (JsonNode now : after.servers().path("servers")) {
                JsonNode then =
                        earlier.getOrDefault(key(now, "upstream", "server"), JsonNodeFactory.instance.objectNode());
                servers.addObject()
                        .put("upstream", now.path("upstream").asText())
                        .put("server", now.path("server").asText())
                        .put("ready", now.path("ready").asBoolean())
                        .put("ejected", now.path("ejected").asBoolean())
                        .put("reason", now.path("reason").asText())
                        .put("requests_per_second", grown(then, now, "calls") / seconds)
                        .put("failed_per_second", grown(then, now, "failed") / seconds)
                        .put("errors_per_second", grown(then, now, "server_errors") / seconds)
                        .put("in_flight", now.path("in_flight").asDouble());
            }
            return rates;
        }

        private static ObjectNode model(String name, CallTotals calls, double seconds) {
            ObjectNode model = JsonNodeFactory.instance
                    .objectNode()
                    .put("model", name)
                    .put("requests_per_second", calls.calls() / seconds)
                    .put("failed_per_second", calls.serverErrors() / seconds)
                    .put("rejected_per_second", calls.clientErrors() / seconds);
            return calls.answered() == 0
                    ? model
                    : model.put("p50_ms", calls.percentile(0.5) * MILLIS)
                            .put("p99_ms", calls.percentile(0.99) * MILLIS);
        }

        private static Map<JsonNode, JsonNode> byName(JsonNode list, String... names) {
            Map<JsonNode, JsonNode> all = new HashMap<>();
            list.forEach(each -> all.put(key(each, names), each));
            return all;
        }

        private static JsonNode key(JsonNode node, String... names) {
            ArrayNode key = JsonNodeFactory.instance.arrayNode();
            for (String name : names) {
                key.add(node.path(name));
            }
            return key;
        }

        private static double grown(JsonNode before, JsonNode after, String counter) {
            double then = before.path(counter).asDouble();
            double now = after.path(counter).asDouble();
            return now < then ? now : now - then;
        }
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

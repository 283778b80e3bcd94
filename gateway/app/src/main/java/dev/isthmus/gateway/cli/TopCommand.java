package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.cli.AdminClient.AdminException;
import dev.isthmus.gateway.cli.FleetRates.FleetSample;
import dev.isthmus.gateway.settings.Units;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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
}

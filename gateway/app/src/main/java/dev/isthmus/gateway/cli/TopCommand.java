package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.cli.AdminClient.AdminException;
import dev.isthmus.gateway.settings.Units;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.apache.commons.cli.Option;

/** Shows the traffic of a running gateway, by model and by server. */
final class TopCommand extends NamedCommand {
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
    public int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        RemoteOptions options = RemoteOptions.of(arguments);
        Duration interval = interval(arguments);
        try (AdminClient admin = new AdminClient(options)) {
            FleetSample first = sample(admin);
            if (console.terminal().getAsBoolean() && !arguments.has(ONCE) && !options.json()) {
                live(admin, first, interval, options, console);
                return 0;
            }
            Thread.sleep(interval);
            FleetRates rates = FleetRates.between(first, sample(admin));
            if (options.json()) {
                console.out().println(rates.document().toPrettyString());
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

    private static Duration interval(Arguments arguments) throws UsageException {
        String text = Objects.requireNonNullElse(arguments.text(INTERVAL), "2s");
        Duration interval = Units.duration(text);
        if (interval == null) {
            throw new UsageException("--interval: a duration such as 2s is expected, got '" + text + "'");
        }
        return interval;
    }

    private static FleetSample sample(AdminClient admin) throws AdminException, InterruptedException {
        JsonNode servers = admin.get("/servers");
        String metrics = admin.text("/metrics");
        return FleetSample.of(System.nanoTime(), metrics, servers);
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

    private static List<String> lines(FleetRates rates) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        FleetRates.ModelRates total = rates.total();
        out.println(rate(total.calls()) + " requests/s, " + rate(total.failed()) + " failed/s, "
                + rate(total.rejected()) + " rejected/s, " + (long) total.underWay() + " in flight");
        out.println();
        TextTable models =
                new TextTable("MODEL", "REQUESTS/S", "FAILED/S", "REJECTED/S", "P50 MS", "P99 MS", "IN FLIGHT");
        for (FleetRates.ModelRates model : rates.models()) {
            models.row(
                    model.model(),
                    rate(model.calls()),
                    rate(model.failed()),
                    rate(model.rejected()),
                    millis(model.p50()),
                    millis(model.p99()),
                    Long.toString((long) model.underWay()));
        }
        models.print(out);
        out.println();
        TextTable servers =
                new TextTable("UPSTREAM", "SERVER", "HEALTH", "REQUESTS/S", "FAILED/S", "ERRORS/S", "IN FLIGHT");
        for (FleetRates.ServerRates server : rates.servers()) {
            servers.row(
                    server.health().path("upstream").asText(),
                    server.health().path("server").asText(),
                    health(server.health()),
                    rate(server.tries()),
                    rate(server.failed()),
                    rate(server.errors()),
                    Long.toString((long) server.underWay()));
        }
        servers.print(out);
        return text.toString().lines().toList();
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

    private static String millis(double seconds) {
        return Double.isNaN(seconds) ? "" : String.format(Locale.ROOT, "%.1f", seconds * 1000);
    }
}

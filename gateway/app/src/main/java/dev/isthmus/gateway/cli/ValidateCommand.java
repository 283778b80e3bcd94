package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.FleetProbe;
import dev.isthmus.gateway.catalogue.FleetReport;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Units;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.commons.cli.Option;

/** Checks a configuration file, and with {@code --probe} the servers that it names. */
final class ValidateCommand implements Command {
    private static final int NOT_GOOD = 1;

    private static final Option PROBE = CommandOptions.flag(
            "probe", "Also ask every server whether it is ready, what it is, and how it describes the models.");
    private static final Option TIMEOUT =
            CommandOptions.valued("timeout", "TIME", "With --probe: how long servers may take; default 10s.");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", "text", "json");

    @Override
    public String name() {
        return "validate";
    }

    @Override
    public List<String> description() {
        return List.of(
                "Checks a configuration file; with --probe also the servers that it names.",
                "Exit status: 0 good, 1 a server or model is not there or replicas disagree, 2 the file is refused.");
    }

    @Override
    public List<String> operands() {
        return List.of("FILE");
    }

    @Override
    public List<Option> options() {
        return List.of(PROBE, TIMEOUT, OUTPUT);
    }

    @Override
    public int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        Path file = arguments.file(0);
        boolean json = CommandOptions.word(arguments, OUTPUT, "text", "json").equals("json");
        Duration timeout = timeout(arguments);
        GatewayConfig config;
        try {
            config = ConfigLoader.load(file);
            if (config.local() != null) {
                LocalBackend.requireAvailable();
            }
        } catch (ConfigException e) {
            refused(file, e.problems(), json, console);
            return IsthmusCommand.REFUSED;
        } catch (OipException e) {
            refused(file, List.of(e.message()), json, console);
            return IsthmusCommand.REFUSED;
        }
        if (!arguments.has(PROBE)) {
            good(file, json, console);
            return 0;
        }
        return probe(file, config, timeout, json, console);
    }

    private static Duration timeout(Arguments arguments) throws UsageException {
        String text = Objects.requireNonNullElse(arguments.text(TIMEOUT), "10s");
        Duration timeout = Units.duration(text);
        if (timeout == null) {
            throw new UsageException("--timeout: a duration such as 10s is expected, got '" + text + "'");
        }
        return timeout;
    }

    private static void refused(Path file, List<String> problems, boolean json, Console console) {
        if (json) {
            ObjectNode document = document(file, false);
            problems.forEach(document.putArray("problems")::add);
            console.out().println(document.toPrettyString());
        } else {
            problems.forEach(console.err()::println);
        }
        console.out().flush();
    }

    private static void good(Path file, boolean json, Console console) {
        console.out().println(json ? document(file, true).toPrettyString() : file + ": good");
        console.out().flush();
    }

    private static ObjectNode document(Path file, boolean good) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("file", file.toString())
                .put("good", good);
    }

    private static int probe(Path file, GatewayConfig config, Duration timeout, boolean json, Console console)
            throws InterruptedException {
        FleetReport report;
        try {
            report = FleetProbe.of(config, timeout);
        } catch (OipException e) {
            console.err().println("isthmus validate: " + e.message());
            return NOT_GOOD;
        }
        if (json) {
            ObjectNode document = document(file, report.problems().isEmpty());
            document.setAll(report.document());
            console.out().println(document.toPrettyString());
        } else {
            console.out().println(file + ": good");
            print(report, console);
        }
        console.out().flush();
        return report.problems().isEmpty() ? 0 : NOT_GOOD;
    }

    private static void print(FleetReport report, Console console) {
        TextTable servers = new TextTable("UPSTREAM", "SERVER", "READY", "NAME", "VERSION", "EXTENSIONS");
        for (FleetReport.ServerReport server : report.servers()) {
            ServerMetadata metadata = server.metadata();
            servers.row(
                    server.source().upstream(),
                    server.source().label(),
                    yes(server.ready()),
                    metadata == null ? "" : metadata.name(),
                    metadata == null ? "" : metadata.version(),
                    metadata == null ? "" : String.join(", ", metadata.extensions()));
        }
        servers.print(console.out());
        TextTable models = new TextTable("MODEL", "UPSTREAM", "SERVER", "READY", "PLATFORM", "VERSIONS");
        for (FleetReport.ModelReport model : report.models()) {
            for (FleetReport.ReplicaReport replica : model.replicas()) {
                ModelMetadata metadata = replica.metadata();
                models.row(
                        model.name(),
                        replica.source().upstream(),
                        replica.source().label(),
                        yes(replica.ready()),
                        metadata == null ? "" : metadata.platform(),
                        metadata == null ? "" : String.join(", ", metadata.versions()));
            }
        }
        models.print(console.out());
        report.problems().forEach(console.err()::println);
        console.err().flush();
    }

    private static String yes(boolean ready) {
        return ready ? "yes" : "no";
    }
}

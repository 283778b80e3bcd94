package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.replay.ReplayReport;
import dev.isthmus.gateway.replay.ReplayRun;
import dev.isthmus.gateway.replay.ReplayRun.ReplaySettings;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.commons.cli.Option;

/** Sends the requests of a payload log again. */
final class ReplayCommand extends Command {
    private static final int DIFFERENT = 1;
    private static final int MAX_CONCURRENCY = 10_000;
    private static final double MAX_RATE = 1_000_000;
    /** Requests at a time if there is a rate, so that slow responses do not lower it. */
    private static final int OPEN_CONCURRENCY = 256;

    private static final Option TO =
            CommandOptions.valued("to", "URL", "The server: http://HOST:PORT or https://HOST:PORT.");
    private static final Option GRPC = CommandOptions.flag("grpc", "Send requests over gRPC; over REST otherwise.");
    private static final Option FORM = CommandOptions.valued(
            "form", "auto|json|binary", "Tensors over REST; default auto: as the server's metadata has it.");
    private static final Option HEADER = CommandOptions.valued("header", "NAME=VALUE", "A header of each request.");
    private static final Option MODEL =
            CommandOptions.valued("model", "NAME=OTHER[/VERSION]", "The model to request where NAME was recorded.");
    private static final Option COMPARE = CommandOptions.flag("compare", "Compare responses with the recorded ones.");
    private static final Option RTOL = CommandOptions.valued(
            "rtol", "X", "With --compare: relative tolerance of floating-point elements; 1e-5 by default.");
    private static final Option ATOL = CommandOptions.valued(
            "atol", "X", "With --compare: absolute tolerance of floating-point elements; 1e-8 by default.");
    private static final Option RATE =
            CommandOptions.valued("rate", "N", "Requests per second; as many as possible by default.");
    private static final Option CONCURRENCY = CommandOptions.valued(
            "concurrency", "N", "Requests at a time; 1 by default, " + OPEN_CONCURRENCY + " with --rate.");
    private static final Option OUTPUT = CommandOptions.output("Form of the report.", "text", "json");

    ReplayCommand() {
        super(
                "replay",
                List.of("FILE"),
                List.of(
                        TO,
                        CommandOptions.AUTHORITY,
                        GRPC,
                        FORM,
                        HEADER,
                        MODEL,
                        COMPARE,
                        RTOL,
                        ATOL,
                        RATE,
                        CONCURRENCY,
                        OUTPUT),
                "Sends the requests of a payload log again, and compares the responses.",
                "FILE is a file that 'payload_log' of the configuration wrote: a CloudEvent of JSON in each line.",
                "Exit status: 0 all were answered and none differs, 1 some failed or differ, 2 lines cannot be used.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        ReplaySettings settings = settings(arguments);
        boolean json = arguments.word(OUTPUT).equals("json");
        ReplayReport report;
        try {
            report = ReplayRun.of(settings);
        } catch (IOException e) {
            console.err().println("isthmus replay: " + FailureReason.of(e));
            return e instanceof UnknownHostException ? DIFFERENT : IsthmusCommand.REFUSED;
        } catch (OipException silent) {
            console.err()
                    .println(
                            "isthmus replay: " + settings.connection().to() + " does not respond: " + silent.message());
            return DIFFERENT;
        }
        print(report, json, console);
        return !report.good() ? DIFFERENT : report.incomplete() ? IsthmusCommand.REFUSED : 0;
    }

    private static void print(ReplayReport report, boolean json, Console console) {
        PrintWriter out = console.out();
        if (json) {
            out.println(report.document().toPrettyString());
        } else {
            report.problems().forEach(console.err()::println);
            report.text().forEach(out::println);
        }
    }

    private static ReplaySettings settings(Arguments arguments) throws UsageException {
        if (!Files.isReadable(arguments.file(0))) {
            throw new UsageException("a file that can be read is expected, got '" + arguments.operand(0) + "'");
        }
        double rate = number(arguments, RATE, 0, MAX_RATE);
        ServerConnection connection = new ServerConnection(
                CommandOptions.server(TO, arguments.text(TO)),
                arguments.file(CommandOptions.AUTHORITY),
                arguments.has(GRPC),
                switch (arguments.word(FORM)) {
                    case "json" -> BinaryTensorData.FALSE;
                    case "binary" -> BinaryTensorData.TRUE;
                    default -> BinaryTensorData.AUTO;
                },
                arguments.pairs(HEADER),
                Objects.requireNonNullElse(
                        arguments.number(CONCURRENCY, 1, MAX_CONCURRENCY), rate > 0 ? OPEN_CONCURRENCY : 1));
        return new ReplaySettings(
                arguments.file(0),
                connection,
                models(arguments),
                arguments.has(COMPARE),
                new FloatTolerance(
                        number(arguments, RTOL, 1e-5, Double.MAX_VALUE),
                        number(arguments, ATOL, 1e-8, Double.MAX_VALUE)),
                rate);
    }

    private static Map<String, ModelRef> models(Arguments arguments) throws UsageException {
        Map<String, ModelRef> models = new HashMap<>();
        for (Map.Entry<String, String> each : arguments.pairs(MODEL).entrySet()) {
            models.put(each.getKey(), CommandOptions.model("--model: ", each.getValue()));
        }
        return models;
    }

    private static double number(Arguments arguments, Option option, double byDefault, double max)
            throws UsageException {
        String text = arguments.text(option);
        try {
            double number = text == null ? byDefault : Double.parseDouble(text);
            if (number >= 0 && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Reported below.
        }
        throw new UsageException(CommandOptions.name(option) + ": a number of at least 0"
                + (max == MAX_RATE ? " and at most 1000000" : "") + " is expected, got '" + text + "'");
    }
}

package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.replay.InferReport;
import dev.isthmus.gateway.replay.InferRun;
import dev.isthmus.gateway.replay.InferRun.InferSettings;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** Sends an inference request, once or many times. */
final class InferCommand extends Command {
    private static final int FAILED = 1;
    private static final int MAX_COUNT = 1_000_000;
    private static final int MAX_CONCURRENCY = 10_000;
    private static final String DEFAULT_URL = "http://127.0.0.1:8080";

    private static final Option FILE = CommandOptions.valued(
            "f",
            "file",
            "FILE",
            "The request: the JSON that a REST client would post; by default an example from the model's metadata.");
    private static final Option URL = CommandOptions.valued(
            "url", "URL", "The gateway, or another server: HOST:PORT or a URL; default " + DEFAULT_URL + ".");
    private static final Option GRPC = CommandOptions.flag("grpc", "Send the request over gRPC; over REST otherwise.");
    private static final Option COUNT =
            CommandOptions.valued("n", "count", "N", "Send it N times; print shares and latencies, not the response.");
    private static final Option CONCURRENCY =
            CommandOptions.valued("c", "concurrency", "N", "Requests at a time; 1 by default.");
    private static final Option HEADER = CommandOptions.valued("header", "NAME=VALUE", "A header of the request.");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", "text", "json");

    InferCommand() {
        super(
                "infer",
                List.of("MODEL"),
                List.of(
                        FILE,
                        URL,
                        GRPC,
                        COUNT,
                        CONCURRENCY,
                        HEADER,
                        CommandOptions.TOKEN,
                        CommandOptions.AUTHORITY,
                        OUTPUT),
                "Sends an inference request and prints the response, or with -n who responded, and how fast.",
                "MODEL is the name that a client requests, or NAME/VERSION.",
                "Exit status: 0 all were answered, 1 some failed, 2 the request is refused before it is sent.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        boolean json = arguments.word(OUTPUT).equals("json");
        ServerConnection connection = connection(arguments);
        ModelRef model = CommandOptions.model("", arguments.operand(0));
        int count = Objects.requireNonNullElse(arguments.number(COUNT, 1, MAX_COUNT), 1);
        Path file = arguments.file(FILE);
        String given = file == null ? null : CommandOptions.text(FILE, file);
        InferReport report;
        try {
            String request = given == null ? InferRun.example(connection, model) : given;
            InferSettings settings = new InferSettings(connection, model, request, count);
            if (!valid(settings, file, console)) {
                return IsthmusCommand.REFUSED;
            }
            report = InferRun.of(settings);
        } catch (IOException | OipException e) {
            console.err().println("isthmus infer: " + connection.to() + ": " + reason(e));
            return FAILED;
        }
        if (json) {
            console.out().println(report.document().toPrettyString());
        } else {
            print(report, count, console);
        }
        return report.failed() > 0 ? FAILED : 0;
    }

    private static String reason(Exception e) {
        return e instanceof OipException failure ? failure.code() + ": " + failure.message() : FailureReason.of(e);
    }

    private static boolean valid(InferSettings settings, @Nullable Path file, Console console) {
        try {
            settings.check();
            return true;
        } catch (OipException invalid) {
            console.err().println("isthmus infer: " + (file == null ? "example" : file) + ": " + invalid.message());
            return false;
        }
    }

    private static ServerConnection connection(Arguments arguments) throws UsageException {
        String url = Objects.requireNonNullElse(arguments.text(URL), DEFAULT_URL);
        return new ServerConnection(
                CommandOptions.server(URL, url),
                arguments.file(CommandOptions.AUTHORITY),
                arguments.has(GRPC),
                BinaryTensorData.AUTO,
                headers(arguments),
                Objects.requireNonNullElse(arguments.number(CONCURRENCY, 1, MAX_CONCURRENCY), 1));
    }

    private static Map<String, String> headers(Arguments arguments) throws UsageException {
        Map<String, String> headers = new LinkedHashMap<>(arguments.pairs(HEADER));
        String token = CommandOptions.token(arguments);
        if (token != null) {
            headers.put("authorization", CommandOptions.bearer(token));
        }
        return headers;
    }

    private static void print(InferReport report, int count, Console console) {
        if (count == 1) {
            String response = report.response();
            if (response != null) {
                console.out().println(response);
            }
        } else {
            shares(report.document(), console);
        }
        for (JsonNode each : report.document().path("failures")) {
            String times = count == 1 ? "" : each.path("count").asText() + " times ";
            console.err()
                    .println("isthmus infer: " + times + each.path("code").asText() + ": "
                            + each.path("message").asText());
        }
    }

    private static void shares(ObjectNode report, Console console) {
        console.out()
                .println(String.format(
                        Locale.ROOT,
                        "sent %d: %d answered, %d failed; %.1f requests/s",
                        report.path("sent").asInt(),
                        report.path("answered").asInt(),
                        report.path("failed").asInt(),
                        report.path("requests_per_second").asDouble()));
        if (report.path("answered").asInt() == 0) {
            return;
        }
        console.out().println(InferReport.latencies(report));
        TextTable.print(
                console.out(),
                "MODEL=model, VERSION=version, RESPONSES=responses, SHARE=share",
                FleetCommands.objects(report.path("targets"))
                        .map(target -> target.put(
                                "share",
                                String.format(
                                        Locale.ROOT,
                                        "%.1f %%",
                                        target.path("share").asDouble() * 100))));
    }
}

package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.oip.ModelRef;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** Asks a gateway what would be wrong with an inference request. */
final class ValidateRequestCommand extends Command {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int INVALID = 1;
    private static final int OK = 200;
    private static final String DEFAULT_URL = "http://127.0.0.1:8080";

    private static final Option FILE =
            CommandOptions.valued("f", "file", "FILE", "The request: the JSON that a REST client would post.");
    private static final Option URL =
            CommandOptions.valued("url", "URL", "The gateway: HOST:PORT or a URL; default " + DEFAULT_URL + ".");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", "text", "json");

    ValidateRequestCommand() {
        super(
                "validate-request",
                List.of("MODEL"),
                List.of(FILE, URL, CommandOptions.TOKEN, CommandOptions.AUTHORITY, OUTPUT),
                "Says what would be wrong with an inference request, without sending it to a server.",
                "MODEL is the name that a client requests, or NAME/VERSION.",
                "Exit status: 0 nothing, 1 something, or it cannot be told, 2 an argument is invalid.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException, InterruptedException {
        boolean json = arguments.word(OUTPUT).equals("json");
        ModelRef model = CommandOptions.model("", arguments.operand(0));
        Path file = arguments.file(FILE);
        if (file == null) {
            throw new UsageException("--file: a file with the request is expected, got none");
        }
        URI gateway = CommandOptions.server(URL, Objects.requireNonNullElse(arguments.text(URL), DEFAULT_URL));
        try {
            HttpRequest request = request(gateway, model, file, CommandOptions.token(arguments));
            HttpResponse<String> response = send(request, arguments.file(CommandOptions.AUTHORITY));
            return print(response, json, console);
        } catch (IOException | TlsFileException e) {
            console.err().println("isthmus validate-request: " + gateway + ": " + FailureReason.of(e));
            return INVALID;
        }
    }

    private static HttpRequest request(URI gateway, ModelRef model, Path file, @Nullable String token)
            throws UsageException {
        String version = model.version().isEmpty() ? "" : "/versions/" + AdminClient.segment(model.version());
        URI to = gateway.resolve("/v2/models/" + AdminClient.segment(model.name()) + version + "/validate");
        HttpRequest.Builder request = HttpRequest.newBuilder(to).timeout(TIMEOUT);
        try {
            request.POST(HttpRequest.BodyPublishers.ofFile(file));
        } catch (FileNotFoundException e) {
            throw new UsageException("--file: a file with the request is expected, got '" + file + "'");
        }
        if (token != null) {
            request.header("Authorization", CommandOptions.bearer(token));
        }
        return request.build();
    }

    private static HttpResponse<String> send(HttpRequest request, @Nullable Path authority)
            throws IOException, TlsFileException, InterruptedException {
        try (HttpClient client = AdminClient.http(authority, TIMEOUT)) {
            return client.send(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
        }
    }

    private static int print(HttpResponse<String> response, boolean json, Console console)
            throws JsonProcessingException {
        JsonNode document = JSON.readTree(response.body());
        if (response.statusCode() != OK) {
            console.err()
                    .println("isthmus validate-request: " + response.statusCode() + ": "
                            + document.path("error").asText());
            return INVALID;
        }
        boolean compared = document.path("compared").asBoolean();
        boolean valid = document.path("valid").asBoolean() && compared;
        if (json) {
            console.out().println(document.toPrettyString());
        } else {
            document.path("errors")
                    .forEach(each -> console.out().println(each.path("message").asText()));
            String reason = document.path("errors").path(0).path("reason").asText();
            if (!compared && !reason.equals("protocol")) {
                console.out().println("the metadata of the model, or of one of its servers, are not known");
            } else if (valid) {
                console.out().println("the request matches the metadata of the model");
            }
        }
        return valid ? 0 : INVALID;
    }
}

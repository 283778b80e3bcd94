package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.cli.RemoteCommand.RemoteOptions;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A client of a gateway's admin address. Blocks. */
final class AdminClient implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int ERROR = 400;

    private final URI admin;
    private final @Nullable String token;
    private final HttpClient client;

    /** @throws AdminException if a file cannot be used */
    AdminClient(RemoteOptions options) throws AdminException {
        admin = options.admin();
        token = options.token();
        try {
            client = http(options.authority(), TIMEOUT);
        } catch (TlsFileException e) {
            throw new AdminException(Objects.requireNonNull(e.getMessage()), e);
        }
    }

    /** The gateway cannot be asked, or refused; the message says what to do. */
    static final class AdminException extends Exception {
        private static final long serialVersionUID = 1L;

        AdminException(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }

    /**
     * A client for one gateway.
     *
     * @param authority PEM file with the certificates that vouch for the gateway's; null for those of the JVM
     */
    static HttpClient http(@Nullable Path authority, Duration connectTimeout) throws TlsFileException {
        return LimitedExchange.client(authority == null ? null : TlsFiles.trusting(authority), connectTimeout)
                .build();
    }

    /** The JSON document at a path. */
    JsonNode get(String path) throws AdminException, InterruptedException {
        return json(send(path, "GET"));
    }

    /** As {@link #get}, also for a response that is an error, such as "not ready". */
    JsonNode ask(String path) throws AdminException, InterruptedException {
        return json(exchange(path, "GET"));
    }

    /** Does what the path says, and returns the response's document. */
    JsonNode post(String path) throws AdminException, InterruptedException {
        return json(send(path, "POST"));
    }

    /** Encodes a text as one segment of a path. */
    static String segment(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private HttpResponse<String> send(String path, String method) throws AdminException, InterruptedException {
        HttpResponse<String> response = exchange(path, method);
        if (response.statusCode() >= ERROR) {
            throw new AdminException(
                    method + " " + admin + path + ": " + response.statusCode() + " " + error(response), null);
        }
        return response;
    }

    private HttpResponse<String> exchange(String path, String method) throws AdminException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(admin.resolve(path))
                .timeout(TIMEOUT)
                .method(method, HttpRequest.BodyPublishers.noBody());
        if (token != null) {
            request.header("Authorization", CommandOptions.bearer(token));
        }
        try {
            HttpResponse<String> response =
                    client.send(request.build(), HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
            requireToken(response);
            return response;
        } catch (ConnectException e) {
            throw new AdminException(
                    "nothing accepts connections at " + admin + "; 'admin' in the configuration sets the address,"
                            + " --admin names it here",
                    e);
        } catch (IOException e) {
            throw new AdminException(admin + ": " + FailureReason.of(e), e);
        }
    }

    private void requireToken(HttpResponse<String> response) throws AdminException {
        if (response.statusCode() == 401) {
            throw new AdminException(
                    token == null
                            ? admin + " needs a token: name its file with --token-file"
                            : admin + " does not accept the token",
                    null);
        }
    }

    private static String error(HttpResponse<String> response) {
        try {
            return JSON.readTree(response.body()).path("error").asText(response.body());
        } catch (JsonProcessingException e) {
            return response.body();
        }
    }

    private JsonNode json(HttpResponse<String> response) throws AdminException {
        try {
            return JSON.readTree(response.body());
        } catch (JsonProcessingException e) {
            throw new AdminException(admin + " is not the admin address of a gateway: JSON is expected", e);
        }
    }

    @Override
    public void close() {
        client.close();
    }
}

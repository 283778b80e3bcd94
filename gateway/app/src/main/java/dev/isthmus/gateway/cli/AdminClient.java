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
import org.jspecify.annotations.Nullable;

/**
 * A client of a gateway's admin address. Blocks. An {@link IOException} says what to do if the gateway cannot be asked, or
 * refuses.
 */
final class AdminClient implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int ERROR = 400;
    private static final int UNAUTHORIZED = 401;

    private final URI admin;
    private final @Nullable String token;
    private final HttpClient client;

    /** @throws TlsFileException if the file of authorities cannot be used */
    AdminClient(RemoteOptions options) {
        admin = options.admin();
        token = options.token();
        client = http(options.authority(), TIMEOUT);
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

    JsonNode get(String path) throws IOException, InterruptedException {
        return json(send(path, "GET"));
    }

    /** As {@link #get}, also for a response that is an error, such as "not ready". */
    JsonNode ask(String path) throws IOException, InterruptedException {
        return json(exchange(path, "GET"));
    }

    /** Does what the path says, and returns the response's document. */
    JsonNode post(String path) throws IOException, InterruptedException {
        return json(send(path, "POST"));
    }

    /** Encodes a text as one segment of a path. */
    static String segment(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private HttpResponse<String> send(String path, String method) throws IOException, InterruptedException {
        HttpResponse<String> response = exchange(path, method);
        if (response.statusCode() >= ERROR) {
            throw new IOException(method + " " + admin + path + ": " + response.statusCode() + " " + error(response));
        }
        return response;
    }

    private HttpResponse<String> exchange(String path, String method) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(admin.resolve(path))
                .timeout(TIMEOUT)
                .method(method, HttpRequest.BodyPublishers.noBody());
        if (token != null) {
            request.header("Authorization", CommandOptions.bearer(token));
        }
        HttpResponse<String> response;
        try {
            response = client.send(request.build(), HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
        } catch (IOException e) {
            String hint = "; 'admin' in the configuration sets the address, --admin names it here";
            throw new IOException(admin + ": " + FailureReason.of(e) + (e instanceof ConnectException ? hint : ""), e);
        }
        if (response.statusCode() == UNAUTHORIZED) {
            throw new IOException(
                    token == null
                            ? admin + " needs a token: name its file with --token-file"
                            : admin + " does not accept the token");
        }
        return response;
    }

    private static String error(HttpResponse<String> response) {
        try {
            return JSON.readTree(response.body()).path("error").asText(response.body());
        } catch (JsonProcessingException e) {
            return response.body();
        }
    }

    private JsonNode json(HttpResponse<String> response) throws IOException {
        try {
            return JSON.readTree(response.body());
        } catch (JsonProcessingException e) {
            throw new IOException(admin + " is not the admin address of a gateway: JSON is expected", e);
        }
    }

    @Override
    public void close() {
        client.close();
    }
}

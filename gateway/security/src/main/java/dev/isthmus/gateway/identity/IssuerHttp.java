package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Requests to an issuer. They block, at most for {@link #TIMEOUT}; what is more than 1 MiB is no response. Each has a
 * client of its own, so that a changed file of authorities is used.
 *
 * @param name of the issuer in messages
 * @param ca file with the trusted authorities; null for those of the Java runtime
 * @param caKey its key in the configuration
 */
record IssuerHttp(String name, @Nullable Path ca, String caKey) {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final long MAX_SIZE = 1 << 20;
    private static final int OK = 200;
    private static final int MAX_TEXT = 500;

    /** A response, whatever its status. */
    record IssuerResponse(IssuerHttp issuer, String url, int status, String body) {
        boolean isOk() {
            return status == OK;
        }

        /** The body, if the status is 200. */
        String requireOk() {
            if (!isOk()) {
                throw issuer.unavailable(url + ": status 200 is expected, got " + status);
            }
            return body;
        }
    }

    IssuerResponse get(String url) {
        return send(HttpRequest.newBuilder(URI.create(url)));
    }

    IssuerResponse send(HttpRequest.Builder builder) {
        HttpRequest request = builder.timeout(TIMEOUT)
                .header("accept", "application/jwk-set+json, application/json")
                .build();
        String url = request.uri().toString();
        try (HttpClient client = LimitedExchange.client(ca == null ? null : TlsFiles.trusting(ca), TIMEOUT)
                .build()) {
            HttpResponse<byte[]> response =
                    LimitedExchange.send(client, request, HttpResponse.BodyHandlers.ofByteArray(), MAX_SIZE, TIMEOUT);
            return new IssuerResponse(
                    this, url, response.statusCode(), new String(response.body(), StandardCharsets.UTF_8));
        } catch (TlsFileException e) {
            throw unavailable(caKey + ": " + e.getMessage());
        } catch (IOException e) {
            throw unavailable(url + ": " + FailureReason.of(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unavailable("the gateway is ending");
        }
    }

    OipException unavailable(String why) {
        return new OipException(ErrorCode.UNAVAILABLE, name + ": " + cut(why));
    }

    /** The start of a text that the issuer may have written. */
    static String cut(String text) {
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) + "..." : text;
    }
}

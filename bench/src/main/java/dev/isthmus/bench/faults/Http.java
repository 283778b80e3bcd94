package dev.isthmus.bench.faults;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Blocking requests to the gateway besides the load. */
final class Http {
    private static final int LIMIT_MILLIS = 2_000;

    private Http() {}

    /** The body of a response with status 200. */
    static String get(int port, String path) throws IOException {
        HttpURLConnection connection = (HttpURLConnection)
                URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
        connection.setConnectTimeout(LIMIT_MILLIS);
        connection.setReadTimeout(LIMIT_MILLIS);
        if (connection.getResponseCode() != 200) {
            throw new IOException(path + ": 200 is expected, got " + connection.getResponseCode());
        }
        try (InputStream body = connection.getInputStream()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}

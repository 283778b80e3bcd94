package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * Requests to the API server with the token of a service account. Token and certificates are read again for each
 * request, since both are renewed. Thread-safe; blocks.
 */
public final class ApiServer {
    /** For the connection, and for each read of what is sent at once. */
    static final Duration TIMEOUT = Duration.ofSeconds(15);

    private static final int MAX_FILE = 1 << 20;
    private static final int MAX_ERROR = 64 << 10;
    private static final JsonMapper JSON = new JsonMapper();

    private final KubernetesConfig config;
    private final Map<String, String> environment;

    /** Guarded by this. */
    private @Nullable TrustedIssuers trusted;

    /** Certificates, and what makes connections to servers with certificates of theirs. */
    private record TrustedIssuers(List<X509Certificate> certificates, SSLSocketFactory connections) {}

    /** @param environment of the process */
    public ApiServer(KubernetesConfig config, Map<String, String> environment) {
        this.config = config;
        this.environment = environment;
    }

    /**
     * Requests JSON.
     *
     * @param idle the longest time without data
     * @return to be closed
     * @throws ApiException if the response has another status than 200
     */
    ObjectStream get(String path, Duration idle) throws IOException {
        HttpsURLConnection request = request(path, TIMEOUT);
        // Later it would have no effect.
        request.setReadTimeout(Math.toIntExact(idle.toMillis()));
        requireStatus(request, HttpURLConnection.HTTP_OK);
        return new ObjectStream(request);
    }

    /** @param limit for the connection, and for each read */
    private HttpsURLConnection request(String path, Duration limit) throws IOException {
        HttpsURLConnection request =
                (HttpsURLConnection) URI.create(origin() + path).toURL().openConnection();
        request.setSSLSocketFactory(connections());
        request.setInstanceFollowRedirects(false);
        request.setConnectTimeout(Math.toIntExact(limit.toMillis()));
        request.setReadTimeout(Math.toIntExact(limit.toMillis()));
        request.setRequestProperty("authorization", "Bearer " + token());
        request.setRequestProperty("accept", "application/json");
        request.setRequestProperty("user-agent", "isthmus");
        return request;
    }

    private static void requireStatus(HttpsURLConnection request, int expected) throws IOException {
        int status = request.getResponseCode();
        if (status != expected) {
            try (InputStream body =
                    Objects.requireNonNullElse(request.getErrorStream(), InputStream.nullInputStream())) {
                throw new ApiException(status, message(body.readNBytes(MAX_ERROR)));
            }
        }
    }

    /**
     * The answer to a SelfSubjectAccessReview.
     *
     * @param reason in words; may be empty
     * @param date the header of the response; empty if it has none
     */
    public record AccessReview(boolean allowed, String reason, String date) {}

    /**
     * Asks whether the service account may do something.
     *
     * @param verb such as {@code watch}
     * @param limit for the connection, and for each read
     * @throws IOException if there is no answer within the limit, or another one
     */
    public AccessReview review(String namespace, String group, String resource, String verb, Duration limit)
            throws IOException {
        Map<String, String> what = Map.of("namespace", namespace, "group", group, "resource", resource, "verb", verb);
        HttpsURLConnection request = request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", limit);
        request.setDoOutput(true);
        request.setRequestProperty("content-type", "application/json");
        try (OutputStream body = request.getOutputStream()) {
            body.write(JSON.writeValueAsBytes(Map.of("spec", Map.of("resourceAttributes", what))));
        }
        requireStatus(request, HttpURLConnection.HTTP_CREATED);
        try (InputStream body = request.getInputStream()) {
            JsonNode status = JSON.readTree(body.readNBytes(MAX_ERROR)).path("status");
            return new AccessReview(
                    status.path("allowed").asBoolean(),
                    status.path("reason").asText(),
                    Objects.requireNonNullElse(request.getHeaderField("date"), ""));
        }
    }

    private String origin() throws IOException {
        String configured = config.apiServer();
        if (configured != null) {
            return configured.endsWith("/") ? configured.substring(0, configured.length() - 1) : configured;
        }
        String host = environment.getOrDefault("KUBERNETES_SERVICE_HOST", "");
        String port = environment.getOrDefault("KUBERNETES_SERVICE_PORT", "443");
        if (host.isBlank()) {
            throw new IOException("KUBERNETES_SERVICE_HOST is not set, so this is not a pod; 'kubernetes: api_server'"
                    + " is expected outside a cluster");
        }
        return "https://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }

    private String token() throws IOException {
        String token = new String(read("token_file", config.tokenFile()), StandardCharsets.ISO_8859_1).strip();
        if (!token.matches("[!-~]+")) {
            throw new IOException(
                    "kubernetes: token_file: a token of printable characters is expected in " + config.tokenFile());
        }
        return token;
    }

    private static byte[] read(String key, Path file) throws IOException {
        try (var in = Files.newInputStream(file)) {
            return in.readNBytes(MAX_FILE);
        } catch (IOException e) {
            throw new IOException("kubernetes: " + key + ": " + file + " cannot be read", e);
        }
    }

    private synchronized SSLSocketFactory connections() throws IOException {
        List<X509Certificate> certificates;
        try {
            certificates = TlsFiles.certificates(config.caFile());
        } catch (TlsFileException e) {
            throw new IOException("kubernetes: ca_file: " + e.getMessage(), e);
        }
        if (trusted == null || !trusted.certificates().equals(certificates)) {
            trusted = new TrustedIssuers(
                    certificates, TlsFiles.trusting(certificates).getSocketFactory());
        }
        return trusted.connections();
    }

    /** The message of a {@code Status}. */
    private static String message(byte[] body) {
        try {
            return JSON.readTree(body).path("message").asText("");
        } catch (JacksonException e) {
            return "";
        } catch (IOException e) {
            throw new IllegalStateException("reading an array", e);
        }
    }

    /** An error that the API server reports, as the status of a response or as an event of a watch. */
    static final class ApiException extends IOException {
        private static final long serialVersionUID = 1L;

        /** The API server does not know the kind of resource. */
        private static final int NOT_FOUND = 404;

        /** The resource version is too old to continue from. */
        static final int GONE = 410;

        private final int status;

        ApiException(int status, String message) {
            super("the API server responds with " + status
                    + (!message.isBlank()
                            ? ": " + message
                            : status == NOT_FOUND ? ": it does not know this kind of resource" : ""));
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    /** The body of a response, which ends a read after a number of bytes. Read by one thread. */
    static final class ObjectStream extends FilterInputStream {
        /** Several times what etcd stores of one object. */
        static final int MAX_OBJECT = 4 << 20;

        private final HttpURLConnection connection;
        private Runnable pause = () -> {};
        private int allowed = MAX_OBJECT;

        ObjectStream(HttpURLConnection connection) throws IOException {
            super(connection.getInputStream());
            this.connection = connection;
        }

        /** Another {@link #MAX_OBJECT} bytes may be read from here on, and no more. */
        void allowObject() {
            allowed = MAX_OBJECT;
        }

        /** Has the reading thread run a task before it waits for more. */
        void onPause(Runnable task) {
            pause = task;
        }

        @Override
        public int read(byte[] to, int offset, int length) throws IOException {
            if (allowed == 0 && length > 0) {
                throw new IOException("the API server sends an object of more than " + MAX_OBJECT + " bytes");
            }
            if (in.available() == 0) {
                pause.run();
            }
            try {
                int count = in.read(to, offset, Math.min(length, allowed));
                allowed -= Math.max(0, count);
                return count;
            } catch (SocketTimeoutException silent) {
                throw silent;
            } catch (IOException ended) {
                throw new IOException("the connection to the API server has ended", ended);
            }
        }

        /** With the connection: a body may have no end. */
        @Override
        public void close() {
            connection.disconnect();
        }
    }
}

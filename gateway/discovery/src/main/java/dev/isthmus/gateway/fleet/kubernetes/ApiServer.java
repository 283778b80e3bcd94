package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Requests to the API server with the token of a service account. Token and certificates are read again for each
 * request, since both are renewed. Thread-safe; blocks.
 */
public final class ApiServer implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(15);
    private static final int MAX_FILE = 1 << 20;
    private static final int MAX_ERROR = 64 << 10;
    private static final int OK = 200;
    private static final int CREATED = 201;
    private static final JsonMapper JSON = new JsonMapper();

    private final KubernetesConfig config;
    private final Map<String, String> environment;

    /** Guarded by this. */
    private @Nullable TrustedClient current;

    /** A client and the issuers' certificates that it trusts. */
    private record TrustedClient(HttpClient http, List<X509Certificate> issuers) {}

    /** @param environment of the process */
    public ApiServer(KubernetesConfig config, Map<String, String> environment) {
        this.config = config;
        this.environment = environment;
    }

    /**
     * Requests JSON.
     *
     * @param idle the longest time without data of the body
     * @return to be closed
     * @throws ApiException if the response has another status than 200
     */
    TimedBody get(String path, Duration idle) throws IOException, InterruptedException {
        HttpResponse<TimedBody> response = client().send(request(path).build(), head -> new TimedBody(idle));
        if (response.statusCode() != OK) {
            try (TimedBody body = response.body()) {
                throw new ApiException(response.statusCode(), message(body.readNBytes(MAX_ERROR)));
            }
        }
        return response.body();
    }

    private HttpRequest.Builder request(String path) throws IOException {
        return HttpRequest.newBuilder(URI.create(origin() + path))
                .timeout(TIMEOUT)
                .header("authorization", "Bearer " + token())
                .header("accept", "application/json")
                .header("user-agent", "isthmus");
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
     * @throws IOException if there is no answer within the limit, or another one
     */
    public AccessReview review(String namespace, String group, String resource, String verb, Duration limit)
            throws IOException, InterruptedException {
        Map<String, String> what = Map.of("namespace", namespace, "group", group, "resource", resource, "verb", verb);
        byte[] review = JSON.writeValueAsBytes(Map.of("spec", Map.of("resourceAttributes", what)));
        HttpRequest request = request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(review))
                .build();
        HttpResponse<byte[]> response =
                LimitedExchange.send(client(), request, HttpResponse.BodyHandlers.ofByteArray(), MAX_ERROR, limit);
        if (response.statusCode() != CREATED) {
            throw new ApiException(response.statusCode(), message(response.body()));
        }
        JsonNode status = JSON.readTree(response.body()).path("status");
        return new AccessReview(
                status.path("allowed").asBoolean(),
                status.path("reason").asText(),
                response.headers().firstValue("date").orElse(""));
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

    /** HTTP/1.1: a connection that the network has lost is not used again for another request. */
    private synchronized HttpClient client() throws IOException {
        List<X509Certificate> issuers;
        try {
            issuers = TlsFiles.certificates(config.caFile());
        } catch (TlsFileException e) {
            throw new IOException("kubernetes: ca_file: " + e.getMessage(), e);
        }
        if (current == null || !current.issuers().equals(issuers)) {
            HttpClient http =
                    LimitedExchange.client(TlsFiles.trusting(issuers), TIMEOUT).build();
            close();
            current = new TrustedClient(http, issuers);
        }
        return current.http();
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

    /** Requests in progress end by themselves. */
    @Override
    public synchronized void close() {
        if (current != null) {
            current.http().shutdown();
            current = null;
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
                    + (message.isBlank() ? unexplained(status) : ": " + message));
            this.status = status;
        }

        private static String unexplained(int status) {
            return status == NOT_FOUND ? ": it does not know this kind of resource" : "";
        }

        int status() {
            return status;
        }
    }

    /**
     * The body of a response as a stream whose reads end after a time without data, or after a number of bytes: the JDK's
     * HTTP client limits only the time until the head. At most one part is received ahead. Read by one thread; closing it
     * closes the connection.
     */
    static final class TimedBody extends InputStream implements BodySubscriber<TimedBody> {
        /** What the client reports: a part, or the end if there is no part. */
        private record Received(
                List<ByteBuffer> part, @Nullable Throwable failure, boolean last) {}

        /** Several times what etcd stores of one object. */
        static final int MAX_OBJECT = 4 << 20;

        private final long idleNanos;
        private final BlockingQueue<Received> queue = new LinkedBlockingQueue<>();
        private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
        private List<ByteBuffer> current = List.of();
        private PausedReader pause = new PausedReader(0, () -> {});
        private long allowed = MAX_OBJECT;
        private boolean ended;

        /** What the reader does when nothing has arrived for a time. */
        private record PausedReader(long nanos, Runnable task) {}

        /** @param idle the longest time without data */
        TimedBody(Duration idle) {
            idleNanos = idle.toNanos();
        }

        @Override
        public CompletionStage<TimedBody> getBody() {
            return CompletableFuture.completedFuture(this);
        }

        @Override
        public void onSubscribe(Flow.Subscription source) {
            subscription.complete(source);
            source.request(1);
        }

        @Override
        public void onNext(List<ByteBuffer> part) {
            queue.add(new Received(part, null, false));
        }

        @Override
        public void onError(Throwable failure) {
            queue.add(new Received(List.of(), failure, true));
        }

        @Override
        public void onComplete() {
            queue.add(new Received(List.of(), null, true));
        }

        /** Another {@link #MAX_OBJECT} bytes may be read from here on, and no more. */
        void allowObject() {
            allowed = MAX_OBJECT;
        }

        /** Has the reading thread run a task when nothing has arrived for a time. */
        void onPause(Duration after, Runnable task) {
            pause = new PausedReader(after.toNanos(), task);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, to.length);
            while (!ended) {
                for (ByteBuffer buffer : current) {
                    if (buffer.hasRemaining()) {
                        return read(buffer, to, offset, length);
                    }
                }
                next();
            }
            return -1;
        }

        private int read(ByteBuffer from, byte[] to, int offset, int length) throws IOException {
            if (allowed == 0 && length > 0) {
                throw new IOException("the API server sends an object of more than " + MAX_OBJECT + " bytes");
            }
            int count = (int) Math.min(Math.min(length, from.remaining()), allowed);
            from.get(to, offset, count);
            allowed -= count;
            return count;
        }

        private void next() throws IOException {
            Received received;
            try {
                received = queue.poll(pause.nanos(), TimeUnit.NANOSECONDS);
                if (received == null) {
                    pause.task().run();
                    received = queue.poll(idleNanos, TimeUnit.NANOSECONDS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while reading", e);
            }
            if (received == null) {
                throw new HttpTimeoutException(
                        "the API server has sent nothing for " + TimeUnit.NANOSECONDS.toSeconds(idleNanos) + " s");
            }
            if (received.failure() != null) {
                throw new IOException("the connection to the API server has ended", received.failure());
            }
            ended = received.last();
            current = received.part();
            if (!ended) {
                subscription.join().request(1);
            }
        }

        @Override
        public void close() {
            ended = true;
            subscription.thenAccept(Flow.Subscription::cancel);
        }
    }
}

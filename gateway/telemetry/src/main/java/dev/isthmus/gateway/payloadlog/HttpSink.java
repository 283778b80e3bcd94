package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.TlsFiles;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Posts events to a URL in CloudEvents' binary content mode: the data is the body, attributes are headers. Several are
 * on the way at once, limited in number and bytes. An event that fails is not sent again.
 */
final class HttpSink implements EventSink {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** The bytes of all events on the way; each counts at least one in sixteen of them. */
    private static final int MAX_ON_THE_WAY = 16 << 20;

    private static final int MIN_COST = MAX_ON_THE_WAY / 16;
    private static final long MAX_RESPONSE = 1 << 20;

    private final URI url;
    private final PayloadLog log;
    private final Semaphore room = new Semaphore(MAX_ON_THE_WAY);
    private final ExecutorService executor;
    private final @Nullable Path ca;
    /** Made by the first event for which the certificates can be read. Of the thread. */
    private @Nullable HttpClient client;

    HttpSink(PayloadLogConfig config, String url, PayloadLog log) {
        this.url = URI.create(url);
        this.log = log;
        executor = Executors.newSingleThreadExecutor(new DefaultThreadFactory("isthmus-payload-http", true));
        ca = config.ca();
    }

    private HttpClient client() {
        if (client == null) {
            client = LimitedExchange.client(ca == null ? null : TlsFiles.trusting(ca), TIMEOUT)
                    .executor(executor)
                    .build();
        }
        return client;
    }

    @Override
    public void send(CloudEvent event) throws InterruptedException {
        int cost = Math.clamp(event.length(), MIN_COST, MAX_ON_THE_WAY);
        HttpRequest request = request(event);
        HttpClient to = client();
        room.acquire(cost);
        LimitedExchange.sendAsync(to, request, HttpResponse.BodyHandlers.discarding(), MAX_RESPONSE, TIMEOUT)
                .whenComplete((response, failure) -> {
                    room.release(cost);
                    report(response, failure);
                });
    }

    private void report(@Nullable HttpResponse<Void> response, @Nullable Throwable failure) {
        if (response == null) {
            log.lost(LossReason.IO_ERROR, failure == null ? "no response" : FailureReason.of(failure));
        } else if (response.statusCode() / 100 == 2) {
            log.delivered();
        } else {
            log.lost(LossReason.REJECTED, "status 2xx is expected, got " + response.statusCode());
        }
    }

    private HttpRequest request(CloudEvent event) {
        HttpRequest.Builder request = HttpRequest.newBuilder(url).timeout(TIMEOUT);
        event.attributes().forEach((name, value) -> request.header("ce-" + name, encoded(value)));
        String jsonLength = event.attributes().get(CloudEvent.JSON_LENGTH);
        if (jsonLength != null) {
            request.header("inference-header-content-length", jsonLength);
        }
        if (event.hasData()) {
            request.header("content-type", event.contentType());
        }
        return request.POST(HttpRequest.BodyPublishers.ofByteArray(event.data(), 0, event.length()))
                .build();
    }

    /** A header's value: space, quote, percent and all that is not printable ASCII are percent-encoded (3.1.3.2). */
    static String encoded(String value) {
        StringBuilder text = new StringBuilder(value.length());
        for (byte each : value.getBytes(StandardCharsets.UTF_8)) {
            if (each > ' ' && each < 0x7f && each != '"' && each != '%') {
                text.append((char) each);
            } else {
                text.append(String.format("%%%02X", each));
            }
        }
        return text.toString();
    }

    @Override
    public void close() {
        try {
            room.acquire(MAX_ON_THE_WAY);
        } catch (InterruptedException late) {
            Thread.currentThread().interrupt();
        } finally {
            if (client != null) {
                client.shutdownNow();
            }
            executor.shutdown();
        }
    }
}

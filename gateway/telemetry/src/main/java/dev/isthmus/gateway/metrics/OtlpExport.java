package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import dev.isthmus.gateway.settings.TlsFiles;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends all metrics to an OpenTelemetry collector periodically, on a thread of its own. A request that fails is not
 * repeated: the next one has the same sums and more.
 */
final class OtlpExport implements Reloadable.Replaced {
    private static final Logger LOG = LoggerFactory.getLogger(OtlpExport.class);
    private static final int OK = 200;
    private static final int REDIRECTION = 300;
    private static final long MAX_RESPONSE = 1 << 20;

    private final OtlpConfig config;
    private final Supplier<MetricSnapshots> metrics;
    private final OtlpEncoder encoder;
    private final Counter sent;
    private final Counter failed;
    /** Made by the first request. Used by the thread only. */
    private @Nullable HttpClient client;

    private final BackgroundWriter writer = new BackgroundWriter("isthmus-otlp-metrics", this::run);

    /**
     * Starts it.
     *
     * @param version of this build
     */
    OtlpExport(OtlpConfig config, Supplier<MetricSnapshots> metrics, MeterRegistry registry, String version) {
        this.config = config;
        this.metrics = metrics;
        this.sent = counter(registry, "ok");
        this.failed = counter(registry, "failed");
        this.encoder = new OtlpEncoder(resource(config, version), version, nanos());
        writer.start();
    }

    private static Counter counter(MeterRegistry registry, String result) {
        return Counter.builder("isthmus.metrics.exports")
                .description("Requests with metrics to the OpenTelemetry collector")
                .tag("result", result)
                .register(registry);
    }

    private static Map<String, String> resource(OtlpConfig config, String version) {
        Map<String, String> resource = new LinkedHashMap<>();
        resource.put("service.name", config.serviceName());
        resource.put("service.version", version);
        resource.put("service.instance.id", UUID.randomUUID().toString());
        resource.putAll(config.resource());
        return resource;
    }

    private HttpClient client() {
        if (client == null) {
            Path ca = config.ca();
            client = LimitedExchange.client(ca == null ? null : TlsFiles.trusting(ca), config.timeout())
                    .build();
        }
        return client;
    }

    private static long nanos() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    private void send() {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(config.endpoint()))
                    .timeout(config.timeout())
                    .header("content-type", "application/x-protobuf")
                    .header("content-encoding", "gzip");
            for (Map.Entry<String, Path> each : config.headerFiles().entrySet()) {
                request.header(each.getKey(), Files.readString(each.getValue()).strip());
            }
            HttpRequest post =
                    request.POST(HttpRequest.BodyPublishers.ofByteArray(body())).build();
            int status = LimitedExchange.send(client(), post, BodyHandlers.discarding(), MAX_RESPONSE, config.timeout())
                    .statusCode();
            if (status >= OK && status < REDIRECTION) {
                sent.increment();
            } else {
                failed("status " + status);
            }
        } catch (IOException | RuntimeException e) {
            failed(FailureReason.of(e));
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
    }

    private byte[] body() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            encoder.request(metrics.get(), nanos()).writeTo(gzip);
        }
        return bytes.toByteArray();
    }

    private void failed(String why) {
        failed.increment();
        LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("server", config.endpoint())
                .log(
                        "metrics cannot be sent to {}; check 'metrics.otlp' and the collector: {}",
                        config.endpoint(),
                        why);
    }

    private void run() {
        writer.repeat(config.interval().toNanos(), this::send);
        if (client != null) {
            client.shutdownNow();
        }
    }

    @Override
    public void close() {
        writer.close();
    }
}

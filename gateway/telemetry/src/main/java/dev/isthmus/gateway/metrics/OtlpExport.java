package dev.isthmus.gateway.metrics;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.OtlpRequests;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.WatchedFiles;
import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Label;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.SummarySnapshot;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
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
    private final @Nullable WatchedFiles ca;
    /** Made by the first request, and again when the authority's certificate has changed. Used by the thread only. */
    private @Nullable HttpClient client;

    private final BackgroundWriter writer = new BackgroundWriter("isthmus-otlp-metrics", this::run);

    /** @param version of this build */
    OtlpExport(OtlpConfig config, Supplier<MetricSnapshots> metrics, MeterRegistry registry, String version) {
        this.config = config;
        Path file = config.ca();
        this.ca = file == null ? null : new WatchedFiles(() -> List.of(file), false);
        this.metrics = metrics;
        this.sent = counter(registry, "ok");
        this.failed = counter(registry, "failed");
        this.encoder =
                new OtlpEncoder(OtlpRequests.resource(config.serviceName(), version, config.resource()), version);
    }

    private static Counter counter(MeterRegistry registry, String result) {
        return Counter.builder("isthmus.metrics.exports")
                .description("Requests with metrics to the OpenTelemetry collector")
                .tag("result", result)
                .register(registry);
    }

    private HttpClient client() {
        if (client == null || (ca != null && ca.check() == FileChange.CHANGED)) {
            disconnect();
            if (ca != null) {
                ca.loading();
            }
            client = LimitedExchange.client(
                            config.ca() == null ? null : TlsFiles.trusting(config.ca()), config.timeout())
                    .build();
        }
        return client;
    }

    private void disconnect() {
        if (client != null) {
            client.shutdownNow();
            client = null;
        }
    }

    private static long nanos() {
        return ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now());
    }

    private void send() {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(config.endpoint()))
                    .timeout(config.timeout())
                    .header("content-type", "application/x-protobuf")
                    .header("content-encoding", "gzip");
            OtlpRequests.headers(config.headerFiles()).forEach(request::header);
            HttpRequest post =
                    request.POST(HttpRequest.BodyPublishers.ofByteArray(body())).build();
            int status = LimitedExchange.send(client(), post, BodyHandlers.discarding(), MAX_RESPONSE, config.timeout())
                    .statusCode();
            if (status >= OK && status < REDIRECTION) {
                sent.increment();
            } else {
                failed("status " + status);
            }
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
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
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("server", config.endpoint())
                .log(
                        "metrics cannot be sent to {}; check 'metrics.otlp' and the collector: {}",
                        config.endpoint(),
                        why);
    }

    private void run() {
        writer.repeat(config.interval().toNanos(), this::send);
        disconnect();
    }

    @Override
    public BackgroundWriter writer() {
        return writer;
    }

    /**
     * Writes metrics as OTLP's {@code ExportMetricsServiceRequest}, with Prometheus' names and labels. Sums and histograms
     * are cumulative since the start.
     */
    private static final class OtlpEncoder {
        private static final int CUMULATIVE = 2;
        private static final int BUFFER = 128;
        private static final String TOTAL = "_total";

        private final ByteString resource;
        private final ByteString scope;
        /** When counting began, in nanoseconds since 1970: exports are replaced, while the meters go on. */
        private final long startNanos = TimeUnit.MILLISECONDS.toNanos(
                ManagementFactory.getRuntimeMXBean().getStartTime());

        private interface MessageFields {
            void write(CodedOutputStream out) throws IOException;
        }

        /** @param resource attributes of the process */
        OtlpEncoder(Map<String, String> resource, String version) {
            this.resource = message(out -> {
                for (Map.Entry<String, String> each : resource.entrySet()) {
                    out.writeBytes(1, attribute(each.getKey(), each.getValue()));
                }
            });
            this.scope = message(out -> {
                out.writeString(1, "isthmus");
                out.writeString(2, version);
            });
        }

        private static ByteString message(MessageFields fields) {
            ByteString.Output bytes = ByteString.newOutput();
            CodedOutputStream out = CodedOutputStream.newInstance(bytes, BUFFER);
            try {
                fields.write(out);
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException("in memory", e);
            }
            return bytes.toByteString();
        }

        private static ByteString attribute(String key, String value) {
            return message(out -> {
                out.writeString(1, key);
                out.writeBytes(2, message(any -> any.writeString(1, value)));
            });
        }

        /** @param nowNanos in nanoseconds since 1970 */
        ByteString request(MetricSnapshots metrics, long nowNanos) {
            ByteString ofScope = message(out -> {
                out.writeBytes(1, scope);
                for (MetricSnapshot each : metrics) {
                    if (!each.getDataPoints().isEmpty()) {
                        out.writeBytes(2, metric(each, nowNanos));
                    }
                }
            });
            ByteString ofResource = message(out -> {
                out.writeBytes(1, resource);
                out.writeBytes(2, ofScope);
            });
            return message(out -> out.writeBytes(1, ofResource));
        }

        private ByteString metric(MetricSnapshot metric, long now) {
            String full = metric.getMetadata().getPrometheusName();
            String name = full.endsWith(TOTAL) ? full.substring(0, full.length() - TOTAL.length()) : full;
            String help = metric.getMetadata().getHelp();
            return message(out -> {
                out.writeString(1, metric instanceof InfoSnapshot ? name + "_info" : name);
                out.writeString(2, help == null ? "" : help);
                out.writeString(3, name.endsWith("_seconds") ? "s" : name.endsWith("_bytes") ? "By" : "1");
                data(out, metric, now);
            });
        }

        private void data(CodedOutputStream out, MetricSnapshot metric, long now) throws IOException {
            switch (metric) {
                case CounterSnapshot counter ->
                    out.writeBytes(
                            7, points(counter.getDataPoints(), each -> number(each, each.getValue(), now), sum -> {
                                sum.writeEnum(2, CUMULATIVE);
                                sum.writeBool(3, true);
                            }));
                case HistogramSnapshot histogram ->
                    out.writeBytes(
                            9,
                            points(
                                    histogram.getDataPoints(),
                                    each -> histogram(each, now),
                                    all -> all.writeEnum(2, CUMULATIVE)));
                case SummarySnapshot summary ->
                    out.writeBytes(11, points(summary.getDataPoints(), each -> summary(each, now), all -> {}));
                case GaugeSnapshot gauge ->
                    out.writeBytes(
                            5, points(gauge.getDataPoints(), each -> number(each, each.getValue(), now), all -> {}));
                default -> out.writeBytes(5, points(metric.getDataPoints(), each -> number(each, 1, now), all -> {}));
            }
        }

        private static <P extends DataPointSnapshot> ByteString points(
                List<P> points, Function<P, ByteString> encoded, MessageFields others) {
            return message(out -> {
                for (P each : points) {
                    out.writeBytes(1, encoded.apply(each));
                }
                others.write(out);
            });
        }

        private ByteString number(DataPointSnapshot point, double value, long now) {
            return point(point, now, 7, out -> out.writeDouble(4, value));
        }

        private ByteString summary(SummarySnapshot.SummaryDataPointSnapshot point, long now) {
            return point(point, now, 7, out -> {
                out.writeFixed64(4, point.getCount());
                out.writeDouble(5, point.getSum());
            });
        }

        private ByteString histogram(HistogramSnapshot.HistogramDataPointSnapshot point, long now) {
            ClassicHistogramBuckets buckets = point.getClassicBuckets();
            return point(point, now, 9, out -> {
                out.writeFixed64(4, point.getCount());
                out.writeDouble(5, point.getSum());
                for (int i = 0; i < buckets.size(); i++) {
                    out.writeFixed64(6, buckets.getCount(i));
                }
                // The last bucket has no bound.
                for (int i = 0; i < buckets.size() - 1; i++) {
                    out.writeDouble(7, buckets.getUpperBound(i));
                }
            });
        }

        private ByteString point(DataPointSnapshot point, long now, int labels, MessageFields value) {
            return message(out -> {
                out.writeFixed64(2, startNanos);
                out.writeFixed64(3, now);
                value.write(out);
                for (Label each : point.getLabels()) {
                    out.writeBytes(labels, attribute(each.getName(), each.getValue()));
                }
            });
        }
    }
}

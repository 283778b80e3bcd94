package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.logfile.OtlpRequests;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.WatchedFiles;
import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.opentelemetry.api.metrics.MeterProvider;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporterBuilder;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.RetryPolicy;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Sends spans over OTLP with OpenTelemetry's exporter. Used by one thread; blocks. */
final class OtlpSender implements SpanExport.SpanSender {
    /** Held, so that its level is not collected. What it says is said once a minute by {@link SpanExport}. */
    private static final Logger LIBRARY = Logger.getLogger("io.opentelemetry");

    private static final long GRACE_MILLIS = 1000;

    private final TracingConfig config;
    private final @Nullable WatchedFiles ca;
    /** Null before the first spans, and while the authority's certificate cannot be read. */
    private @Nullable Connection connection;

    /** @param requests runs them: the library limits the time until the head of a response, not until its end */
    private record Connection(OtlpHttpSpanExporter exporter, ExecutorService requests) {
        void close() {
            requests.shutdownNow();
            exporter.close();
        }
    }

    /** Connects when there are spans. */
    OtlpSender(TracingConfig config) {
        LIBRARY.setLevel(Level.OFF);
        this.config = config;
        Path file = config.ca();
        ca = file == null ? null : new WatchedFiles(() -> List.of(file), false);
    }

    private Connection connect() throws IOException {
        ExecutorService requests =
                Executors.newSingleThreadExecutor(new DefaultThreadFactory("isthmus-otlp-traces", true));
        OtlpHttpSpanExporterBuilder builder = OtlpHttpSpanExporter.builder()
                .setEndpoint(config.endpoint())
                .setTimeout(config.timeout())
                .setConnectTimeout(config.timeout())
                .setRetryPolicy(RetryPolicy.getDefault())
                .setCompression("gzip")
                .setMeterProvider(MeterProvider.noop())
                .setExecutorService(requests)
                .setHeaders(this::headers);
        Path file = config.ca();
        if (file != null && ca != null) {
            ca.loading();
            builder.setTrustedCertificates(Files.readAllBytes(file));
        }
        return new Connection(builder.build(), requests);
    }

    private Map<String, String> headers() {
        try {
            return OtlpRequests.headers(config.headerFiles());
        } catch (IOException e) {
            throw new UncheckedIOException(FailureReason.of(e), e);
        }
    }

    @Override
    public @Nullable String send(List<SpanData> spans) throws IOException {
        Connection open = connection;
        if (open == null || (ca != null && ca.check() == FileChange.CHANGED)) {
            close();
            open = connect();
            connection = open;
        }
        CompletableResultCode result = open.exporter().export(spans);
        result.join(config.timeout().toMillis() + GRACE_MILLIS, TimeUnit.MILLISECONDS);
        if (result.isSuccess()) {
            return null;
        }
        if (!result.isDone()) {
            // Ends the request that is under way.
            close();
        }
        Throwable cause = result.getFailureThrowable();
        return cause == null ? "no response in time" : FailureReason.of(cause);
    }

    @Override
    public void close() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.OtlpRequests;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.TracingConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spans that wait for the collector, and the thread that sends them, so that a slow collector delays no call. If
 * the queue is full, a span is dropped and counted. Thread-safe.
 */
final class SpanExport {
    private static final Logger LOG = LoggerFactory.getLogger(SpanExport.class);
    private static final int MAX_BATCH = 512;
    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final String endpoint;
    private final BlockingQueue<SpanData> queue;
    private final AtomicInteger queued = new AtomicInteger();
    private final Counter sent;
    private final Counter full;
    private final Counter failed;
    private final Counter closed;
    private final BackgroundWriter writer;

    /** Sends spans to the collector. Used by one thread. */
    interface SpanSender extends AutoCloseable {
        /** Sends spans and blocks until that has succeeded or failed; returns why it has failed, null otherwise. */
        @Nullable
        String send(List<SpanData> spans) throws IOException;

        @Override
        void close();
    }

    /**
     * Sends nothing before there is a span.
     *
     * @param sender created by the thread that sends, as that takes time
     */
    SpanExport(TracingConfig config, MeterRegistry meters, Function<TracingConfig, SpanSender> sender) {
        endpoint = config.endpoint();
        queue = new ArrayBlockingQueue<>(config.queue());
        sent = Counter.builder("isthmus.trace.spans")
                .description("Spans that the collector has accepted")
                .register(meters);
        full = dropped(meters, "full");
        failed = dropped(meters, "collector");
        closed = dropped(meters, "closed");
        writer = new BackgroundWriter("isthmus-traces", () -> run(sender.apply(config)));
    }

    private static Counter dropped(MeterRegistry meters, String reason) {
        return Counter.builder("isthmus.trace.dropped.spans")
                .description("Spans that did not reach the collector: full (too many wait), collector (it is gone, "
                        + "too slow or refuses them), closed (the call ended after a reload)")
                .tag("reason", reason)
                .register(meters);
    }

    static Resource resource(TracingConfig config, String version) {
        AttributesBuilder own = Attributes.builder();
        OtlpRequests.resource(config.serviceName(), version, config.resource()).forEach(own::put);
        return Resource.getDefault().merge(Resource.create(own.build()));
    }

    /** Takes a span that has ended. Never blocks. */
    void add(SpanData span) {
        if (writer.isClosed()) {
            closed.increment();
        } else if (!queue.offer(span)) {
            full.increment();
        } else if (queued.incrementAndGet() == MAX_BATCH) {
            writer.wake();
        }
    }

    private void run(SpanSender sender) {
        try (sender) {
            writer.repeat(INTERVAL_NANOS, () -> sendAll(sender));
        }
    }

    private void sendAll(SpanSender sender) {
        List<SpanData> batch = new ArrayList<>();
        while (queue.drainTo(batch, MAX_BATCH) > 0) {
            queued.addAndGet(-batch.size());
            send(sender, batch);
            batch.clear();
        }
    }

    private void send(SpanSender sender, List<SpanData> batch) {
        String failure;
        try {
            failure = sender.send(List.copyOf(batch));
        } catch (IOException | RuntimeException | OutOfMemoryError fault) {
            failure = FailureReason.of(fault);
        }
        if (failure == null) {
            sent.increment(batch.size());
            return;
        }
        failed.increment(batch.size());
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("server", endpoint)
                .log(
                        "tracing: spans are lost, because {} does not accept them ({}); calls are not affected",
                        endpoint,
                        failure);
    }

    /** Its thread. When that is closed it sends what is left; later spans are dropped. */
    BackgroundWriter writer() {
        return writer;
    }
}

package dev.isthmus.gateway.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TracingConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Spans that wait for a collector. */
class SpanExportTest {
    private static final TracingConfig CONFIG = TestConfigs.with(
            DefaultValues.of(TracingConfig.class), Map.of("endpoint", "http://a/v1/traces", "queue", 10));

    private static final Tracer TRACER = SdkTracerProvider.builder().build().get("test");

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final List<SpanData> sent = Collections.synchronizedList(new ArrayList<>());

    /** Sends nothing before it may. */
    private final class SlowSender implements SpanExport.SpanSender {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch allowed = new CountDownLatch(1);
        private final @Nullable String failure;

        SlowSender(@Nullable String failure) {
            this.failure = failure;
        }

        @Override
        public @Nullable String send(List<SpanData> spans) {
            begun.countDown();
            try {
                allowed.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return "interrupted";
            }
            sent.addAll(spans);
            return failure;
        }

        @Override
        public void close() {}
    }

    private SpanExport export(SpanExport.SpanSender sender) {
        SpanExport export = new SpanExport(CONFIG, meters, config -> sender);
        export.writer().start();
        return export;
    }

    private static SpanData span(int number) {
        return ((ReadableSpan) TRACER.spanBuilder("s" + number).startSpan()).toSpanData();
    }

    private double dropped(String reason) {
        return meters.get("isthmus.trace.dropped.spans")
                .tag("reason", reason)
                .counter()
                .count();
    }

    private double accepted() {
        return meters.get("isthmus.trace.spans").counter().count();
    }

    @Test
    void slowCollector_fillsTheQueue_andTheRestIsDroppedAndCounted() throws Exception {
        SlowSender sender = new SlowSender(null);
        SpanExport export = export(sender);
        try (BackgroundWriter _ = export.writer()) {
            export.add(span(0));
            sender.begun.await();
            for (int i = 1; i <= 15; i++) {
                export.add(span(i));
            }
            assertThat(dropped("full")).isEqualTo(5);
            sender.allowed.countDown();
            await().until(() -> accepted() == 11);
        }
        assertThat(sent).extracting(SpanData::getName).startsWith("s0", "s1").endsWith("s10");
        assertThat(dropped("collector")).isZero();
    }

    @Test
    void spansThatTheCollectorRefuses_areCounted() {
        SlowSender sender = new SlowSender("status 400");
        sender.allowed.countDown();
        SpanExport export = export(sender);
        try (BackgroundWriter _ = export.writer()) {
            export.add(span(0));
            export.add(span(1));
            await().until(() -> dropped("collector") == 2);
        }
        assertThat(accepted()).isZero();
    }

    @Test
    void close_sendsWhatIsLeft_andLaterSpansAreDropped() {
        SlowSender sender = new SlowSender(null);
        sender.allowed.countDown();
        SpanExport export = export(sender);
        for (int i = 0; i < 10; i++) {
            export.add(span(i));
        }
        export.writer().close();
        assertThat(sent).hasSize(10);
        export.add(span(10));
        export.writer().close();
        assertThat(dropped("closed")).isEqualTo(1);
    }

    @Test
    void faultOfTheSender_isAFailure() {
        AtomicInteger requests = new AtomicInteger();
        SpanExport export = export(new SpanExport.SpanSender() {
            @Override
            public @Nullable String send(List<SpanData> spans) {
                if (requests.getAndIncrement() == 0) {
                    throw new OutOfMemoryError("Cannot reserve direct buffer memory");
                }
                throw new IllegalStateException("broken");
            }

            @Override
            public void close() {}
        });
        try (BackgroundWriter _ = export.writer()) {
            export.add(span(0));
            await().until(() -> dropped("collector") == 1);
            export.add(span(1));
            await().until(() -> dropped("collector") == 2);
        }
    }
}

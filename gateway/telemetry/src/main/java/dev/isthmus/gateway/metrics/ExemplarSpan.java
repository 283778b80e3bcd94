package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.TraceSpan;
import io.micrometer.core.instrument.Timer;
import io.prometheus.metrics.tracer.common.SpanContext;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The sampled span of the measurement that this thread records: its ids become an exemplar of the histogram. */
public final class ExemplarSpan implements SpanContext {
    private static final ThreadLocal<@Nullable TraceSpan> CURRENT = new ThreadLocal<>();

    ExemplarSpan() {}

    /** Records the duration of what a span describes. */
    public static void record(Timer timer, long nanos, TraceSpan span) {
        if (!span.sampled()) {
            timer.record(nanos, TimeUnit.NANOSECONDS);
            return;
        }
        CURRENT.set(span);
        try {
            timer.record(nanos, TimeUnit.NANOSECONDS);
        } finally {
            CURRENT.remove();
        }
    }

    @Override
    public @Nullable String getCurrentTraceId() {
        TraceSpan span = CURRENT.get();
        return span == null ? null : span.traceId();
    }

    @Override
    public @Nullable String getCurrentSpanId() {
        TraceSpan span = CURRENT.get();
        return span == null ? null : span.spanId();
    }

    @Override
    public boolean isCurrentSpanSampled() {
        return CURRENT.get() != null;
    }

    @Override
    public void markCurrentSpanAsExemplar() {}
}

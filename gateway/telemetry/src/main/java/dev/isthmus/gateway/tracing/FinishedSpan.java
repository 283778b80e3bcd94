package dev.isthmus.gateway.tracing;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.util.List;

/**
 * A span that has ended, as OpenTelemetry's exporter reads it, by whose accessors its components are named.
 *
 * @param getParentSpanContext invalid if the trace begins with this span
 * @param getStartEpochNanos nanoseconds since 1970
 * @param getEndEpochNanos nanoseconds since 1970
 */
record FinishedSpan(
        String getName,
        SpanKind getKind,
        SpanContext getSpanContext,
        SpanContext getParentSpanContext,
        StatusData getStatus,
        long getStartEpochNanos,
        long getEndEpochNanos,
        Attributes getAttributes,
        List<LinkData> getLinks,
        Resource getResource)
        implements SpanData {

    private static final InstrumentationScopeInfo SCOPE = InstrumentationScopeInfo.create("dev.isthmus.gateway");

    @Override
    public List<EventData> getEvents() {
        return List.of();
    }

    @Override
    public boolean hasEnded() {
        return true;
    }

    @Override
    public int getTotalRecordedEvents() {
        return 0;
    }

    @Override
    public int getTotalRecordedLinks() {
        return getLinks.size();
    }

    @Override
    public int getTotalAttributeCount() {
        return getAttributes.size();
    }

    @Override
    @Deprecated
    @SuppressWarnings({"deprecation", "InlineMeSuggester"})
    public io.opentelemetry.sdk.common.InstrumentationLibraryInfo getInstrumentationLibraryInfo() {
        return io.opentelemetry.sdk.common.InstrumentationLibraryInfo.create(SCOPE.getName(), null);
    }

    @Override
    public InstrumentationScopeInfo getInstrumentationScopeInfo() {
        return SCOPE;
    }
}

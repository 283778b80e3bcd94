package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.tracing.CallAttributes.AttemptAttributes;
import dev.isthmus.gateway.tracing.CallTracer.SpanTrace;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.transcoder.message.Wire;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A span that is sampled: it is handed to the export when it ends. */
final class RecordedSpan implements TraceSpan {
    private final SpanTrace trace;
    private final String spanId;
    private final SpanContext parent;
    private final SpanKind kind;
    private final @Nullable SpanDescription description;
    private final long startNanos;
    private String cached = "";
    private List<LinkData> links = List.of();
    private boolean ended;

    /**
     * What a span describes that is neither a call nor a message: those are described by their context.
     *
     * @param attributes by the code of the failure; null if it has not failed
     */
    private record SpanDescription(String name, Function<@Nullable ErrorCode, Attributes> attributes) {}

    private RecordedSpan(
            SpanTrace trace,
            String spanId,
            SpanContext parent,
            SpanKind kind,
            @Nullable SpanDescription description,
            long startNanos) {
        this.trace = trace;
        this.spanId = spanId;
        this.parent = parent;
        this.kind = kind;
        this.description = description;
        this.startNanos = startNanos;
    }

    /**
     * Begins the span of a call.
     *
     * @param parentId the span of the client; null if the trace begins here
     * @param startNanos on the scale of {@link System#nanoTime()}
     */
    static RecordedSpan ofCall(SpanTrace trace, String spanId, @Nullable String parentId, long startNanos) {
        SpanContext parent = parentId == null ? SpanContext.getInvalid() : trace.remote(parentId);
        return new RecordedSpan(trace, spanId, parent, SpanKind.SERVER, null, startNanos);
    }

    @Override
    public String traceId() {
        return trace.traceId();
    }

    @Override
    public String spanId() {
        return spanId;
    }

    @Override
    public boolean sampled() {
        return true;
    }

    @Override
    public TraceSpan attempt(Operation operation, AttemptTarget target) {
        SpanKind of = target.wire() == Wire.DECODED ? SpanKind.INTERNAL : SpanKind.CLIENT;
        String name = AttemptAttributes.name(operation, target);
        return child(of, name, code -> AttemptAttributes.of(operation, target, code));
    }

    @Override
    public TraceSpan copy(String shadow) {
        return child(SpanKind.INTERNAL, "shadow " + shadow, code -> AttemptAttributes.ofCopy(shadow, code));
    }

    @Override
    public TraceSpan joined(List<TraceSpan> calls) {
        int number = calls.size();
        RecordedSpan joined = child(SpanKind.INTERNAL, "joined call", code -> AttemptAttributes.ofJoined(number, code));
        calls.stream().filter(call -> call != this).forEach(joined::linked);
        return joined;
    }

    /** A child of this span needs no link. */
    @Override
    public void linked(TraceSpan other) {
        if (other instanceof RecordedSpan span
                && !span.parent.getSpanId().equals(spanId)
                && links.size() < SpanLimits.getDefault().getMaxNumberOfLinks()) {
            links = links.isEmpty() ? new ArrayList<>() : links;
            links.add(LinkData.create(span.trace.context(span.spanId)));
        }
    }

    @Override
    public void cached(String result) {
        cached = result;
    }

    private RecordedSpan child(SpanKind of, String name, Function<@Nullable ErrorCode, Attributes> attributes) {
        SpanDescription what = new SpanDescription(name, attributes);
        return new RecordedSpan(trace, HexIds.random64(), trace.context(spanId), of, what, System.nanoTime());
    }

    @Override
    public Call propagated(Call call) {
        return trace.headers().with(call, trace.child(spanId), trace.state());
    }

    @Override
    public void ended(@Nullable ErrorCode code, String reason) {
        if (!ended && description != null) {
            ended = true;
            StatusData status = code == null ? StatusData.unset() : failed(reason);
            export(description.name(), description.attributes().apply(code), status, System.nanoTime());
        }
    }

    private static StatusData failed(String reason) {
        return StatusData.create(StatusCode.ERROR, CallAttributes.cut(reason));
    }

    /** The call has ended. */
    void ended(CallContext call) {
        if (ended) {
            return;
        }
        ended = true;
        StatusData status = CallAttributes.isError(call) ? failed(call.reason()) : StatusData.unset();
        export(CallAttributes.name(call), CallAttributes.of(call, cached), status, startNanos + call.totalNanos());
    }

    /** A message of this call, a stream, has ended. */
    void messageEnded(CallContext message) {
        SpanContext call = trace.context(spanId);
        new RecordedSpan(trace, HexIds.random64(), call, SpanKind.INTERNAL, null, message.startNanos()).ended(message);
    }

    private void export(String name, Attributes attributes, StatusData status, long endNanos) {
        trace.export()
                .add(new FinishedSpan(
                        name,
                        kind,
                        trace.context(spanId),
                        parent,
                        status,
                        trace.epochNanos(startNanos),
                        trace.epochNanos(endNanos),
                        attributes,
                        links,
                        trace.export().resource()));
    }

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
}

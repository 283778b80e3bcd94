package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.oip.ErrorCode;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A span that is sampled: it is handed to the export when it ends. */
final class RecordedSpan implements TraceSpan {
    private final SpanTrace trace;
    private final String spanId;
    private final SpanContext parent;
    private final SpanSubject subject;
    private final long startNanos;
    private String cached = "";
    private List<LinkData> links = List.of();
    private boolean ended;

    private RecordedSpan(SpanTrace trace, String spanId, SpanContext parent, SpanSubject subject, long startNanos) {
        this.trace = trace;
        this.spanId = spanId;
        this.parent = parent;
        this.subject = subject;
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
        return new RecordedSpan(trace, spanId, parent, SpanSubject.OF_CALL, startNanos);
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
        return child(new SpanSubject.OfAttempt(operation, target));
    }

    @Override
    public TraceSpan copy(String shadow) {
        return child(new SpanSubject.OfCopy(shadow));
    }

    @Override
    public TraceSpan joined(List<TraceSpan> calls) {
        RecordedSpan joined = child(new SpanSubject.OfJoined(calls.size()));
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

    private RecordedSpan child(SpanSubject what) {
        return new RecordedSpan(trace, HexIds.random64(), trace.context(spanId), what, System.nanoTime());
    }

    @Override
    public Call propagated(Call call) {
        return trace.headers().with(call, trace.child(spanId), trace.state());
    }

    @Override
    public void ended(@Nullable ErrorCode code, String reason) {
        switch (subject) {
            case SpanSubject.OfCall call -> {}
            case SpanSubject.OfAttempt attempt ->
                end(AttemptAttributes.name(attempt), AttemptAttributes.of(attempt, code), code, reason);
            case SpanSubject.OfJoined joined -> end("joined call", AttemptAttributes.of(joined, code), code, reason);
            case SpanSubject.OfCopy copy ->
                end("shadow " + copy.shadow(), AttemptAttributes.of(copy, code), code, reason);
        }
    }

    private void end(String name, Attributes attributes, @Nullable ErrorCode code, String reason) {
        if (!ended) {
            ended = true;
            export(name, attributes, code == null ? StatusData.unset() : failed(reason), System.nanoTime());
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
        new RecordedSpan(trace, HexIds.random64(), trace.context(spanId), SpanSubject.OF_MESSAGE, message.startNanos())
                .ended(message);
    }

    private void export(String name, Attributes attributes, StatusData status, long endNanos) {
        trace.export()
                .add(new FinishedSpan(
                        name,
                        subject.kind(),
                        trace.context(spanId),
                        parent,
                        status,
                        trace.epochNanos(startNanos),
                        trace.epochNanos(endNanos),
                        attributes,
                        links,
                        trace.export().resource()));
    }
}

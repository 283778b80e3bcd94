package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.transcoder.message.Wire;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A span that is sampled: it is handed to the export when it ends. */
final class RecordedSpan implements TraceSpan {
    private final SpanTrace trace;
    private final SpanContext parent;
    private final Span span;
    private final long startNanos;
    /** By the code of the failure; null for a call or a message, which its context describes. */
    private final @Nullable Function<@Nullable ErrorCode, Attributes> attributes;

    private String cached = "";

    /**
     * @param parent invalid if the trace begins here
     * @param startNanos on the scale of {@link System#nanoTime()}
     */
    RecordedSpan(
            SpanTrace trace,
            SpanContext parent,
            SpanKind kind,
            String name,
            @Nullable Function<@Nullable ErrorCode, Attributes> attributes,
            long startNanos) {
        this.trace = trace;
        this.parent = parent;
        this.span = trace.begin(parent, kind, name, startNanos);
        this.attributes = attributes;
        this.startNanos = startNanos;
    }

    @Override
    public String traceId() {
        return span.getSpanContext().getTraceId();
    }

    @Override
    public String spanId() {
        return span.getSpanContext().getSpanId();
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
        if (other instanceof RecordedSpan recorded
                && !recorded.parent.getSpanId().equals(spanId())) {
            span.addLink(recorded.span.getSpanContext());
        }
    }

    @Override
    public void cached(String result) {
        cached = result;
    }

    private RecordedSpan child(SpanKind of, String name, Function<@Nullable ErrorCode, Attributes> described) {
        return new RecordedSpan(trace, span.getSpanContext(), of, name, described, System.nanoTime());
    }

    @Override
    public Call propagated(Call call) {
        return trace.propagated(call, span.getSpanContext());
    }

    @Override
    public void ended(@Nullable ErrorCode code, String reason) {
        if (attributes != null && span.isRecording()) {
            end(attributes.apply(code), code == null ? null : reason, System.nanoTime());
        }
    }

    void ended(CallContext call) {
        if (span.isRecording()) {
            span.updateName(CallAttributes.name(call));
            String failure = CallAttributes.isError(call) ? call.reason() : null;
            end(CallAttributes.of(call, cached), failure, startNanos + call.totalNanos());
        }
    }

    /** A message of this call, a stream, has ended. */
    void messageEnded(CallContext message) {
        new RecordedSpan(trace, span.getSpanContext(), SpanKind.INTERNAL, "", null, message.startNanos())
                .ended(message);
    }

    /** @param failure null if it has not failed */
    private void end(Attributes all, @Nullable String failure, long endNanos) {
        span.setAllAttributes(all);
        if (failure != null) {
            span.setStatus(StatusCode.ERROR, CallAttributes.cut(failure));
        }
        span.end(trace.epochNanos(endNanos), TimeUnit.NANOSECONDS);
    }
}

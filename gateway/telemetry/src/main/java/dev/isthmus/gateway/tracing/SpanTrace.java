package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.TraceContext;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TraceStateBuilder;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the recorded spans of one call share.
 *
 * @param flags as in {@link TraceContext}
 * @param state the client's tracestate; null if there is none that may be forwarded
 * @param clockOffset nanoseconds since 1970, less {@link System#nanoTime()}: the spans of a call have one clock
 */
record SpanTrace(int flags, @Nullable String state, TraceHeaders headers, Tracer tracer, long clockOffset) {

    SpanTrace(int flags, @Nullable String state, TraceHeaders headers, Tracer tracer) {
        this(flags, state, headers, tracer, ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now()) - System.nanoTime());
    }

    /** The span of the caller, which is not in this process. */
    SpanContext remote(TraceContext caller) {
        return SpanContext.createFromRemoteParent(
                caller.traceId(), caller.parentId(), TraceFlags.fromByte((byte) flags), members(state));
    }

    private static TraceState members(@Nullable String state) {
        if (state == null) {
            return TraceState.getDefault();
        }
        TraceStateBuilder members = TraceState.builder();
        List<String> all = Arrays.asList(state.split(",", -1));
        // The builder puts each member in front of the others.
        for (String member : all.reversed()) {
            int equals = member.indexOf('=');
            if (equals > 0) {
                members.put(
                        member.substring(0, equals).strip(),
                        member.substring(equals + 1).stripTrailing());
            }
        }
        return members.build();
    }

    /** Nanoseconds since 1970 of a time on the scale of {@link System#nanoTime()}. */
    long epochNanos(long nanoTime) {
        return clockOffset + nanoTime;
    }

    /** @param startNanos on the scale of {@link System#nanoTime()} */
    Span begin(SpanContext parent, SpanKind kind, String name, long startNanos) {
        return tracer.spanBuilder(name)
                .setSpanKind(kind)
                .setParent(Context.root().with(Span.wrap(parent)))
                .setStartTimestamp(epochNanos(startNanos), TimeUnit.NANOSECONDS)
                .startSpan();
    }

    /** The call with a span of this trace as the parent of what its server records. */
    Call propagated(Call call, SpanContext span) {
        TraceContext own = new TraceContext(span.getTraceId(), span.getSpanId(), flags);
        return headers.with(call, own.child(span.getSpanId()), state);
    }
}

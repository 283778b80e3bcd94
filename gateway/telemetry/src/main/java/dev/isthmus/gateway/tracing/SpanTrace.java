package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.TraceContext;
import dev.isthmus.gateway.tracing.CallTracer.TraceHeaders;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TraceStateBuilder;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the recorded spans of one call share.
 *
 * @param flags as in {@link TraceContext}
 * @param state the client's tracestate; null if there is none that may be forwarded
 * @param members of the state
 * @param clockOffset nanoseconds since 1970, less {@link System#nanoTime()}: the spans of a call have one clock
 */
record SpanTrace(
        String traceId,
        int flags,
        @Nullable String state,
        TraceState members,
        TraceHeaders headers,
        SpanExport export,
        long clockOffset) {

    SpanTrace(String traceId, int flags, @Nullable String state, TraceHeaders headers, SpanExport export) {
        this(traceId, flags, state, members(state), headers, export, clockOffsetNow());
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

    private static long clockOffsetNow() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano() - System.nanoTime();
    }

    /** Nanoseconds since 1970 of a time on the scale of {@link System#nanoTime()}. */
    long epochNanos(long nanoTime) {
        return clockOffset + nanoTime;
    }

    /** The traceparent for a child of a span of this trace. */
    String child(String spanId) {
        return new TraceContext(traceId, spanId, flags).child(spanId);
    }

    /** OpenTelemetry's form of a span's identity. */
    SpanContext context(String spanId) {
        return SpanContext.create(traceId, spanId, TraceFlags.fromByte((byte) flags), members);
    }

    /** The context of the span of the caller, which is not in this process. */
    SpanContext remote(String spanId) {
        return SpanContext.createFromRemoteParent(traceId, spanId, TraceFlags.fromByte((byte) flags), members);
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.TraceContext;
import dev.isthmus.gateway.call.TraceSpan;
import org.jspecify.annotations.Nullable;

/**
 * A call that belongs to a trace and is not recorded, with its attempts and copies: servers learn of that.
 *
 * @param own the call's own position in the trace
 * @param state the client's tracestate; null if there is none that may be forwarded
 */
record UnsampledSpan(TraceContext own, @Nullable String state, TraceHeaders headers) implements TraceSpan {
    @Override
    public String traceId() {
        return own.traceId();
    }

    @Override
    public Call propagated(Call call) {
        return headers.withUnrecorded(call, own, state);
    }
}

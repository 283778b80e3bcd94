package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.TraceContext;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The headers of trace context that servers get.
 *
 * @param parent whether they get traceparent
 * @param state whether they get tracestate
 */
record TraceHeaders(boolean parent, boolean state) {

    /**
     * The call with this trace context in place of what the client sent.
     *
     * @param traceparent for the server
     * @param tracestate of the client, valid; null if there is none, or none that may be forwarded
     */
    Call with(Call call, String traceparent, @Nullable String tracestate) {
        if (!parent && !state) {
            return call;
        }
        Call located = parent ? call.withHeader(TraceContext.HEADER, traceparent) : call;
        if (state && tracestate != null) {
            return located.withHeader(TraceStateGrammar.HEADER, tracestate);
        }
        return located.headers().containsKey(TraceStateGrammar.HEADER) ? withoutState(located) : located;
    }

    private static Call withoutState(Call call) {
        Map<String, String> headers = new HashMap<>(call.headers());
        headers.remove(TraceStateGrammar.HEADER);
        return call.withHeaders(headers);
    }

    /** The call with a new span below this one, which is not recorded. */
    Call withUnrecorded(Call call, TraceContext own, @Nullable String tracestate) {
        return parent || state ? with(call, own.child(HexIds.random64()), tracestate) : call;
    }
}

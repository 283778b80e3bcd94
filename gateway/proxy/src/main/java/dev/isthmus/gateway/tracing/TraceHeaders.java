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
        Map<String, String> headers = HashMap.newHashMap(call.headers().size() + 2);
        headers.putAll(call.headers());
        if (parent) {
            headers.put(TraceContext.HEADER, traceparent);
        }
        if (state && tracestate != null) {
            headers.put(TraceStateGrammar.HEADER, tracestate);
        } else {
            headers.remove(TraceStateGrammar.HEADER);
        }
        return call.withHeaders(headers);
    }

    /** The call with a new span below this one, which is not recorded. */
    Call withUnrecorded(Call call, TraceContext own, @Nullable String tracestate) {
        return parent || state ? with(call, own.child(HexIds.random64()), tracestate) : call;
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.TraceContext;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Begins the traces of calls, by one configuration. Thread-safe. */
final class CallTracer implements Reloadable.Replaced {
    private final TracingConfig config;
    private final TraceHeaders headers;
    private final SpanExport export;

    /** @param forwarded the request headers that are forwarded to servers */
    record TracerSettings(TracingConfig config, HeaderAllowList forwarded) {}

    /** Starts the thread that sends spans. */
    CallTracer(TracerSettings settings, String version, MeterRegistry meters) {
        config = settings.config();
        export = new SpanExport(config, version, meters, OtlpSender::new);
        HeaderAllowList forwarded = settings.forwarded();
        headers =
                new TraceHeaders(forwarded.contains(TraceContext.HEADER), forwarded.contains(TraceStateGrammar.HEADER));
    }

    /** Begins the span of a call, as a part of the client's trace or of a new one. */
    TraceSpan begin(CallContext call) {
        HeaderFields fields = call.headers();
        TraceContext client = TraceContext.parse(fields.value(TraceContext.HEADER));
        boolean sampled = sampled(client);
        String state = client == null ? null : state(fields);
        String traceId = client == null ? HexIds.random128().toString() : client.traceId();
        String spanId = HexIds.random64();
        TraceContext own = new TraceContext(traceId, spanId, client == null ? 0 : client.flags()).withSampled(sampled);
        if (!sampled) {
            return new UnsampledSpan(own, state, headers);
        }
        SpanTrace trace = new SpanTrace(traceId, own.flags(), state, headers, export);
        return RecordedSpan.ofCall(trace, spanId, client == null ? null : client.parentId(), call.startNanos());
    }

    private boolean sampled(@Nullable TraceContext client) {
        if (client != null && config.parent() == ParentDecision.RESPECTED) {
            return client.sampled();
        }
        return ThreadLocalRandom.current().nextDouble() < config.sample();
    }

    private static @Nullable String state(HeaderFields fields) {
        String state = fields.value(TraceStateGrammar.HEADER);
        return state != null && TraceStateGrammar.valid(state) ? state : null;
    }

    @Override
    public void close() {
        export.close();
    }

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
}

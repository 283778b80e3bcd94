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
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TraceStateBuilder;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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

    /** The grammar of {@code tracestate} (W3C Trace Context, 3.3). */
    static final class TraceStateGrammar {
        /** The header, in lower case. */
        static final String HEADER = "tracestate";

        private static final int MAX_MEMBERS = 32;
        private static final String CHARACTERS = "[a-z0-9_*/-]*+";
        /** A member, or nothing, and the spaces and tabs around it; key and value have at most 256 characters. */
        private static final Pattern MEMBER = Pattern.compile("[ \\t]*+((?=[^=]{1,256}=)[a-z0-9]" + CHARACTERS
                + "(?:@[a-z]" + CHARACTERS + ")?=[ -~&&[^=]]{0,255}[!-~&&[^=]])?[ \\t]*+");

        private TraceStateGrammar() {}

        /** Whether a value may be forwarded: a list of at most 32 members {@code key=value}, empty ones not counted. */
        static boolean valid(String list) {
            int members = 0;
            Matcher member = MEMBER.matcher("");
            for (String each : list.split(",", -1)) {
                if (!member.reset(each).matches() || (member.group(1) != null && ++members > MAX_MEMBERS)) {
                    return false;
                }
            }
            return members > 0;
        }
    }
}

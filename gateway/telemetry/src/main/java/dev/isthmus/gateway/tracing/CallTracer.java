package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.TraceContext;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Begins the traces of calls, by one configuration. Thread-safe. */
final class CallTracer implements Reloadable.Replaced {
    private final TracingConfig config;
    private final TraceHeaders headers;
    private final SpanExport export;
    private final Tracer tracer;

    /** @param forwarded the request headers that are forwarded to servers */
    record TracerSettings(TracingConfig config, HeaderAllowList forwarded) {}

    CallTracer(TracerSettings settings, String version, MeterRegistry meters) {
        config = settings.config();
        export = new SpanExport(config, meters, OtlpSender::new);
        tracer = SdkTracerProvider.builder()
                .setResource(SpanExport.resource(config, version))
                .setSampler(Sampler.alwaysOn())
                .addSpanProcessor(new ExportingProcessor(export))
                .build()
                .get("dev.isthmus.gateway");
        HeaderAllowList forwarded = settings.forwarded();
        headers =
                new TraceHeaders(forwarded.contains(TraceContext.HEADER), forwarded.contains(TraceHeaders.TRACESTATE));
    }

    /** Begins the span of a call, as a part of the client's trace or of a new one. */
    TraceSpan begin(CallContext call) {
        HeaderFields fields = call.headers();
        TraceContext client = TraceContext.parse(fields.value(TraceContext.HEADER));
        String state = client == null ? null : state(fields);
        if (!sampled(client)) {
            TraceContext trace =
                    client == null ? new TraceContext(HexIds.random128().toString(), "", 0) : client;
            return new UnsampledSpan(trace.withSampled(false), state, headers);
        }
        int flags = TraceFlags.getSampled().asByte() | (client == null ? 0 : client.flags());
        SpanTrace trace = new SpanTrace(flags, state, headers, tracer);
        SpanContext parent = client == null ? SpanContext.getInvalid() : trace.remote(client);
        return new RecordedSpan(trace, parent, SpanKind.SERVER, "", null, call.startNanos());
    }

    private boolean sampled(@Nullable TraceContext client) {
        return (client != null && config.parent() == ParentDecision.RESPECTED)
                ? client.sampled()
                : ThreadLocalRandom.current().nextDouble() < config.sample();
    }

    private static @Nullable String state(HeaderFields fields) {
        String state = fields.value(TraceHeaders.TRACESTATE);
        return state != null && TraceHeaders.validState(state) ? state : null;
    }

    @Override
    public BackgroundWriter writer() {
        return export.writer();
    }

    /**
     * A call that belongs to a trace and is not recorded, with its attempts and copies: servers learn of that.
     *
     * @param trace that it belongs to
     * @param state the client's tracestate; null if there is none that may be forwarded
     */
    record UnsampledSpan(TraceContext trace, @Nullable String state, TraceHeaders headers) implements TraceSpan {
        @Override
        public String traceId() {
            return trace.traceId();
        }

        @Override
        public Call propagated(Call call) {
            boolean sent = headers.parent() || headers.state();
            return sent ? headers.with(call, trace.child(HexIds.random64()), state) : call;
        }
    }

    private record ExportingProcessor(SpanExport export) implements SpanProcessor {
        @Override
        public void onStart(Context parent, ReadWriteSpan span) {}

        @Override
        public boolean isStartRequired() {
            return false;
        }

        @Override
        public void onEnd(ReadableSpan span) {
            export.add(span.toSpanData());
        }

        @Override
        public boolean isEndRequired() {
            return true;
        }
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.TraceContext;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/** Begins the traces of calls, by one configuration. Thread-safe. */
final class CallTracer implements AutoCloseable {
    private final TracingConfig config;
    private final HeaderAllowList forwarded;
    private final TraceHeaders headers;
    private final DoubleSupplier random;
    private final SpanExport export;

    /**
     * A tracer that is in use until it is closed.
     *
     * @param random from 0 to less than 1
     * @param export taken
     */
    CallTracer(TracingConfig config, HeaderAllowList forwarded, DoubleSupplier random, SpanExport export) {
        this.config = config;
        this.forwarded = forwarded;
        this.random = random;
        this.export = export;
        headers =
                new TraceHeaders(forwarded.contains(TraceContext.HEADER), forwarded.contains(TraceStateGrammar.HEADER));
    }

    /** Starts the thread that sends spans. */
    static CallTracer start(TracingConfig config, HeaderAllowList forwarded, String version, MeterRegistry meters) {
        return new CallTracer(
                config,
                forwarded,
                () -> ThreadLocalRandom.current().nextDouble(),
                SpanExport.start(config, version, meters));
    }

    /** Whether it was made from these settings. */
    boolean isOf(TracingConfig otherConfig, HeaderAllowList otherForwarded) {
        return config.equals(otherConfig) && forwarded.equals(otherForwarded);
    }

    /** Begins the span of a call, as a part of the client's trace or of a new one. */
    TraceSpan begin(CallContext call) {
        HeaderFields fields = call.headers();
        TraceContext client = TraceContext.parse(fields.value(TraceContext.HEADER));
        boolean sampled = sampled(client);
        String state = client == null ? null : state(fields);
        String traceId = client == null ? HexIds.random128() : client.traceId();
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
        return random.getAsDouble() < config.sample();
    }

    private static @Nullable String state(HeaderFields fields) {
        String state = fields.value(TraceStateGrammar.HEADER);
        return state != null && TraceStateGrammar.valid(state) ? state : null;
    }

    /** Sends what is left, for at most five seconds. */
    @Override
    public void close() {
        export.close();
    }
}

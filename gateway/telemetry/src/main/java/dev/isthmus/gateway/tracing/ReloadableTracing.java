package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.TracingConfig;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/** The traces of the current configuration; traces nothing if none are configured. Thread-safe. */
public final class ReloadableTracing implements Layer, AutoCloseable {
    private final MeterRegistry meters;
    private final String version;
    private volatile @Nullable CallTracer current;

    /**
     * Traces nothing until it is configured.
     *
     * @param version of the gateway
     */
    public ReloadableTracing(MeterRegistry meters, String version) {
        this.meters = meters;
        this.version = version;
    }

    /**
     * Changes the configuration; calls that begin from here on are traced as it says. Blocks while spans are sent.
     *
     * @param forwarded the request headers that are forwarded to servers
     */
    public synchronized void configure(@Nullable TracingConfig config, HeaderAllowList forwarded) {
        CallTracer before = current;
        if (config == null) {
            current = null;
        } else if (before == null || !before.isOf(config, forwarded)) {
            current = CallTracer.start(config, forwarded, version, meters);
        } else {
            return;
        }
        if (before != null) {
            before.close();
        }
    }

    @Override
    public String name() {
        return "tracing";
    }

    @Override
    public void began(Exchange x) {
        CallContext call = x.context();
        CallTracer tracer = current;
        if (tracer != null && call.protocol() != null) {
            call.traced(tracer.begin(call));
        }
    }

    @Override
    public void ended(Exchange x) {
        CallContext call = x.context();
        if (call.span() instanceof RecordedSpan recorded) {
            recorded.ended(call);
        }
    }

    /** Sends what is left. */
    @Override
    public void close() {
        CallTracer before = current;
        current = null;
        if (before != null) {
            before.close();
        }
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.TracingConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The traces of the current configuration; traces nothing if none are configured. Thread-safe. */
public final class ReloadableTracing extends Reloadable<CallTracer.TracerSettings, CallTracer> implements Layer {
    /**
     * Traces nothing until it is configured.
     *
     * @param version of the gateway
     */
    public ReloadableTracing(MeterRegistry meters, String version) {
        // Not a lambda: to link one loads the classes of its signature, with nothing configured.
        super(new Function<>() {
            @Override
            public CallTracer apply(CallTracer.TracerSettings settings) {
                return new CallTracer(settings, version, meters);
            }
        });
    }

    /**
     * Changes the configuration; calls that begin from here on are traced as it says. Blocks while spans are sent.
     *
     * @param forwarded the request headers that are forwarded to servers
     */
    public void configure(@Nullable TracingConfig config, HeaderAllowList forwarded) {
        configure(config == null ? null : new CallTracer.TracerSettings(config, forwarded));
    }

    @Override
    public String name() {
        return "tracing";
    }

    @Override
    public void began(Exchange exchange) {
        CallContext call = exchange.context();
        CallTracer tracer = current();
        if (tracer != null && call.protocol() != null) {
            call.traced(tracer.begin(call));
        }
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        if (call.span() instanceof RecordedSpan recorded) {
            recorded.ended(call);
        }
    }

    @Override
    public void messageEnded(Exchange exchange) {
        CallContext message = exchange.context();
        if (message.span() instanceof RecordedSpan recorded) {
            recorded.messageEnded(message);
        }
    }
}

package dev.isthmus.gateway;

import dev.isthmus.gateway.accesslog.ReloadableAccessLog;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.audit.ManagementAudit;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.diagnosis.LiveCalls;
import dev.isthmus.gateway.diagnosis.ServerErrors;
import dev.isthmus.gateway.diagnosis.ServerErrors.CallLookup;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.logging.ProcessLog;
import dev.isthmus.gateway.logging.ProcessLog.LoggingPages;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.payloadlog.ReloadablePayloadLog;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.LoggingConfig;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import dev.isthmus.gateway.tracing.ReloadableTracing;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** What reports on calls: traces, metrics and logs. Outlives configurations. Thread-safe. */
final class GatewayTelemetry implements AutoCloseable {
    private final ReloadableTracing tracing;
    private final CallMetrics calls;
    private final AccessMetrics access;
    private final ReloadableAccessLog accessLog;
    private final ServerErrors errors = new ServerErrors(InstantSource.system());
    private final LiveCalls live = new LiveCalls(System::nanoTime, InstantSource.system());
    private final AuditLog audit = new AuditLog(InstantSource.system());
    private final @Nullable ProcessLog log = ProcessLog.ofProcess().orElse(null);
    private final ReloadablePayloadLog payloadLog;
    private final Reloadable<OtlpConfig, ?> exports;

    /** Reports nothing but metrics until it is configured. */
    GatewayTelemetry(ProcessMetrics metrics) {
        MeterRegistry meters = metrics.registry();
        tracing = new ReloadableTracing(meters, Version.current());
        calls = new CallMetrics(meters);
        access = new AccessMetrics(meters);
        accessLog = new ReloadableAccessLog(meters);
        payloadLog = new ReloadablePayloadLog(meters);
        exports = metrics.exports();
    }

    /** Applies a configuration; calls that end from here on are reported as it says. May block. */
    void configure(GatewayConfig config) {
        tracing.configure(config.tracing(), config.headers().forwarded());
        accessLog.configure(config.accessLog());
        calls.limit(config.metrics().maxSeries());
        calls.objectives(config.models());
        exports.configure(config.metrics().otlp());
        payloadLog.configure(config.payloadLog());
        configure(config.logging());
    }

    /** Applies the settings of the process log, which has lines before there is anything else to configure. */
    void configure(LoggingConfig config) {
        if (log != null) {
            log.configure(config);
        }
    }

    Layer layer(BuiltInLayer layer) {
        return switch (layer) {
            case ENDED_CALLS -> new EndedCalls(live, errors, new ManagementAudit(audit));
            case ACCESS_LOG -> accessLog;
            case CALLER_METRICS -> access;
            case CALL_METRICS -> calls;
            case TRACING -> tracing;
            case PAYLOAD_LOG -> payloadLog;
            default -> throw new IllegalArgumentException("a layer that records is expected, got " + layer);
        };
    }

    CallMetrics calls() {
        return calls;
    }

    AccessMetrics access() {
        return access;
    }

    AuditLog audit() {
        return audit;
    }

    ServerErrors errors() {
        return errors;
    }

    LiveCalls live() {
        return live;
    }

    /** Adds the pages that show calls, and those that show and change what is logged. */
    void addTo(AdminRoutes routes) {
        live.addTo(routes);
        new CallLookup(live, errors).addTo(routes);
        if (log != null) {
            new LoggingPages(log).addTo(routes);
        }
    }

    /** Writes what is left. May block. */
    @Override
    public void close() {
        accessLog.close();
        exports.close();
        tracing.close();
        payloadLog.close();
        if (log != null) {
            log.flush();
        }
    }

    /** The layer that tells pages that watch, the errors of servers and the audit of the calls that have ended. */
    private record EndedCalls(LiveCalls live, ServerErrors errors, ManagementAudit audit) implements Layer {
        @Override
        public String name() {
            return "ended_calls";
        }

        /** Before the client has the response, so that it finds the entry of the audit. */
        @Override
        public void finished(Exchange exchange) {
            if (exchange.context().operation() instanceof Operation.Manage manage) {
                audit.finished(exchange.context(), manage);
            }
        }

        @Override
        public void ended(Exchange exchange) {
            CallContext call = exchange.context();
            if (live.watched()) {
                live.ended(call);
            }
            if (call.code() != null) {
                errors.failed(call);
            }
        }

        /** A message is a request of its own. */
        @Override
        public void messageEnded(Exchange exchange) {
            ended(exchange);
        }
    }
}

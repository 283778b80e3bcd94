package dev.isthmus.gateway;

import dev.isthmus.gateway.accesslog.ReloadableAccessLog;
import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.tracing.ReloadableTracing;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;

/** What reports on calls: traces, metrics and logs. Outlives configurations. Thread-safe. */
final class GatewayTelemetry implements AutoCloseable {
    private final ReloadableTracing tracing;
    private final CallMetrics calls;
    private final AccessMetrics access;
    private final ReloadableAccessLog accessLog;

    /** Reports nothing but metrics until it is configured. */
    GatewayTelemetry(MeterRegistry meters) {
        tracing = new ReloadableTracing(meters, Version.current());
        calls = new CallMetrics(meters);
        access = new AccessMetrics(meters);
        accessLog = new ReloadableAccessLog(meters);
    }

    /** Applies a configuration; calls that end from here on are reported as it says. May block. */
    void configure(GatewayConfig config) {
        tracing.configure(config.tracing(), config.headers().forwarded());
        accessLog.configure(config.accessLog());
    }

    /** To be notified of each call, in this order. */
    List<CallObserver> observers() {
        return List.of(tracing, calls, access, accessLog);
    }

    CallMetrics calls() {
        return calls;
    }

    AccessMetrics access() {
        return access;
    }

    /** Writes what is left. May block. */
    @Override
    public void close() {
        accessLog.close();
        tracing.close();
    }
}

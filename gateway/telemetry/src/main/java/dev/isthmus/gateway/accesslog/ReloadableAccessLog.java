package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.settings.AccessLogConfig;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/** The access log of the current configuration; logs nothing if none is configured. Thread-safe. */
public final class ReloadableAccessLog implements Layer, AutoCloseable {
    private final MeterRegistry meters;
    private volatile @Nullable AccessLog current;

    /** Logs nothing until it is configured. */
    public ReloadableAccessLog(MeterRegistry meters) {
        this.meters = meters;
    }

    /** Changes the configuration; calls that end from here on are logged as it says. Blocks while lines are written. */
    public synchronized void configure(@Nullable AccessLogConfig config) {
        AccessLog before = current;
        if (before != null && before.config().equals(config)) {
            return;
        }
        if (before != null) {
            // First, because both may have the same file.
            current = null;
            before.close();
        }
        current = config == null ? null : new AccessLog(config, meters);
    }

    @Override
    public String name() {
        return "access_log";
    }

    @Override
    public void ended(Exchange x) {
        CallContext call = x.context();
        AccessLog log = current;
        if (log != null && call.protocol() != null) {
            log.log(call);
        }
    }

    /** Writes what is left. */
    @Override
    public void close() {
        configure(null);
    }
}

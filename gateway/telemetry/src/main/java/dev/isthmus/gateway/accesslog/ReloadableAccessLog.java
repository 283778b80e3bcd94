package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.AccessLogConfig;
import io.micrometer.core.instrument.MeterRegistry;

/** The access log of the current configuration; logs nothing if none is configured. Thread-safe. */
public final class ReloadableAccessLog extends Reloadable<AccessLogConfig, AccessLog> implements Layer {
    /** Logs nothing until it is configured. */
    public ReloadableAccessLog(MeterRegistry meters) {
        super(config -> new AccessLog(config, meters));
    }

    @Override
    public String name() {
        return "access_log";
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        AccessLog log = current();
        if (log != null && call.protocol() != null) {
            log.log(call);
        }
    }

    /** A message has a line if it has failed: streams may have any number of them. */
    @Override
    public void messageEnded(Exchange exchange) {
        if (exchange.context().code() != null) {
            ended(exchange);
        }
    }
}

package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.metrics.TargetMeters.TargetLabels;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Logs that the calls to a target fail with server errors, and that none has failed for a minute. Thread-safe. */
final class FailureLog {
    private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);
    static final long QUIET_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final String model;
    private final TargetLabels target;
    private final LongSupplier nanoTime;
    private volatile boolean failing;
    // Guarded by this.
    private long failures;
    private long lastNanos;

    /** @param model of the route, as configured */
    FailureLog(String model, TargetLabels target, LongSupplier nanoTime) {
        this.model = model;
        this.target = target;
        this.nanoTime = nanoTime;
    }

    void failed(ErrorCode code) {
        synchronized (this) {
            lastNanos = nanoTime.getAsLong();
            failures++;
            failing = true;
        }
        event(LOG.atWarn())
                .addKeyValue("code", code)
                .log(
                        "model '{}', target '{}' (upstream '{}'): a call failed: {}; GET /debug/errors has the texts",
                        model,
                        target.name(),
                        target.upstream(),
                        code);
    }

    void succeeded() {
        if (failing) {
            recover();
        }
    }

    private synchronized void recover() {
        if (failing && nanoTime.getAsLong() - lastNanos >= QUIET_NANOS) {
            failing = false;
            event(LOG.atInfo())
                    .log(
                            "model '{}', target '{}' (upstream '{}'): calls succeed again, after {} failures",
                            model,
                            target.name(),
                            target.upstream(),
                            failures);
            failures = 0;
        }
    }

    private LoggingEventBuilder event(LoggingEventBuilder event) {
        return event.addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("model", model)
                .addKeyValue("target", target.name())
                .addKeyValue("upstream", target.upstream());
    }
}

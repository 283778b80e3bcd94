package dev.isthmus.gateway.metrics;

import dev.isthmus.oip.ErrorCode;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs that calls fail with server errors, without flooding the log: the first failure, then the counts at most every
 * ten seconds, and the recovery after ten seconds without a failure. Thread-safe.
 */
final class FailureLog {
    private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);
    static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final String what;
    private final LongSupplier nanoTime;
    private final LongAdder calls = new LongAdder();
    private volatile boolean failing;
    // Guarded by this.
    private long failures;
    private long loggedFailures;
    private long loggedNanos;
    private long lastNanos;

    /** @param what the name of what fails, for log lines */
    FailureLog(String what, LongSupplier nanoTime) {
        this.what = what;
        this.nanoTime = nanoTime;
    }

    void failed(ErrorCode code) {
        synchronized (this) {
            long now = nanoTime.getAsLong();
            lastNanos = now;
            failures++;
            if (!failing) {
                failing = true;
                LOG.warn("{}: a call failed: {}", what, code);
            } else if (now - loggedNanos >= QUIET_NANOS) {
                LOG.warn(
                        "{}: {} calls failed and {} succeeded in the last {} s; the last failure: {}",
                        what,
                        failures - loggedFailures,
                        calls.sumThenReset(),
                        TimeUnit.NANOSECONDS.toSeconds(now - loggedNanos),
                        code);
            } else {
                return;
            }
            loggedFailures = failures;
            loggedNanos = now;
        }
    }

    void succeeded() {
        if (failing) {
            calls.increment();
            recover();
        }
    }

    private synchronized void recover() {
        if (failing && nanoTime.getAsLong() - lastNanos >= QUIET_NANOS) {
            failing = false;
            LOG.info("{}: calls succeed again, after {} failures", what, failures);
            failures = 0;
            loggedFailures = 0;
            calls.reset();
        }
    }
}

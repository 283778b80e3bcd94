package dev.isthmus.gateway.metrics;

import dev.isthmus.oip.ErrorCode;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the log that calls fail on the servers' side, without filling it: the first failure, then how many there were at most
 * every ten seconds, and that calls succeed again after ten seconds without one. For all event loops.
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
    private long told;
    private long toldNanos;
    private long lastNanos;

    /** @param what fails, for people */
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
            } else if (now - toldNanos >= QUIET_NANOS) {
                LOG.warn(
                        "{}: {} calls failed and {} succeeded in the last {} s; the last failure: {}",
                        what,
                        failures - told,
                        calls.sumThenReset(),
                        TimeUnit.NANOSECONDS.toSeconds(now - toldNanos),
                        code);
            } else {
                return;
            }
            told = failures;
            toldNanos = now;
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
            told = 0;
            calls.reset();
        }
    }
}

package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.logfile.ModelShares;
import dev.isthmus.gateway.settings.AccessLogConfig;
import java.util.function.DoubleSupplier;

/** Decides which calls are logged: failed and slow ones always, the others by the share of their model. Thread-safe. */
final class CallSampler {
    private final ModelShares shares;
    private final long slowNanos;
    private final DoubleSupplier random;

    /** @param random from 0 to less than 1 */
    CallSampler(AccessLogConfig config, DoubleSupplier random) {
        this.shares = new ModelShares(config.sample(), config.models());
        this.random = random;
        this.slowNanos = config.slow().isZero() ? Long.MAX_VALUE : config.slow().toNanos();
    }

    /** Whether a call that has ended is logged. */
    boolean logs(CallContext call) {
        if (call.code() != null || call.totalNanos() >= slowNanos) {
            return true;
        }
        Operation operation = call.operation();
        double wanted = shares.of(operation == null ? null : operation.requestedModel());
        return wanted >= 1 || (wanted > 0 && random.getAsDouble() < wanted);
    }
}

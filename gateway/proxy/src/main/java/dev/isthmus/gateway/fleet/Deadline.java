package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.time.Duration;

/**
 * When a call with all its tries is to be over.
 *
 * @param end on the scale of {@link System#nanoTime()}; {@link Call#NO_DEADLINE} for never
 * @param nanos from the beginning of the call to its end
 * @param own whether it is the client's, and not the configured timeout
 */
record Deadline(long end, long nanos, boolean own) {

    /** @param endless whether the timeout does not hold for it */
    static Deadline of(Call call, boolean endless, Duration timeout, long now) {
        if (call.hasDeadline()) {
            return new Deadline(call.deadlineNanos(), call.deadlineNanos() - now, true);
        }
        return endless
                ? new Deadline(Call.NO_DEADLINE, Long.MAX_VALUE, false)
                : new Deadline(now + timeout.toNanos(), timeout.toNanos(), false);
    }

    long left(long now) {
        return end == Call.NO_DEADLINE ? Long.MAX_VALUE : end - now;
    }
}

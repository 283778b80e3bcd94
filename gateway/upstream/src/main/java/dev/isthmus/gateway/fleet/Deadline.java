package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.time.Duration;

/**
 * The deadline of a call, all attempts included.
 *
 * @param end on the scale of {@link System#nanoTime()}; {@link Call#NO_DEADLINE} for never
 * @param nanos from the start of the call to the deadline
 * @param own whether it is the client's deadline rather than the configured timeout
 */
record Deadline(long end, long nanos, boolean own) {

    /** @param endless whether the configured timeout does not apply */
    static Deadline of(Call call, boolean endless, Duration timeout, long now) {
        if (call.hasDeadline()) {
            return new Deadline(call.deadlineNanos(), call.deadlineNanos() - now, true);
        }
        return endless
                ? new Deadline(Call.NO_DEADLINE, Long.MAX_VALUE, false)
                : new Deadline(now + timeout.toNanos(), timeout.toNanos(), false);
    }

    long remaining(long now) {
        return end == Call.NO_DEADLINE ? Long.MAX_VALUE : end - now;
    }
}

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The time that a call has. */
final class CallTimeouts {
    private CallTimeouts() {}

    /** A call whose client gives no deadline has the timeout, where there is one. */
    static Call within(Call call, @Nullable Duration timeout) {
        return timeout == null || call.hasDeadline() ? call : call.withDeadline(System.nanoTime() + timeout.toNanos());
    }
}

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Deadlines of calls. */
final class CallTimeouts {
    private CallTimeouts() {}

    /** Applies the timeout, if any, to a call whose client sets no deadline. */
    static Call within(Call call, @Nullable Duration timeout) {
        return timeout == null || call.hasDeadline() ? call : call.withDeadline(System.nanoTime() + timeout.toNanos());
    }
}

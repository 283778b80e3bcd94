package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.List;

/**
 * What every upstream over a network has.
 *
 * @param endpoints its servers, used in turn
 * @param timeout of one call, unless the client's deadline is earlier
 * @param maxAnswerBytes a longer answer is refused
 */
public record UpstreamSettings(
        String name, List<Endpoint> endpoints, Duration timeout, Duration connectTimeout, int maxAnswerBytes) {

    public UpstreamSettings {
        endpoints = List.copyOf(endpoints);
    }

    /** Nanoseconds that a call has left; never negative. */
    public long nanosLeft(Call call) {
        long left = call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : Long.MAX_VALUE;
        return Math.max(0, Math.min(left, timeout.toNanos()));
    }

    public OipException timedOut(Throwable cause) {
        return new OipException(ErrorCode.DEADLINE_EXCEEDED, "upstream '" + name + "' did not answer in time", cause);
    }

    public OipException unreachable(Throwable cause) {
        return new OipException(ErrorCode.UNAVAILABLE, "upstream '" + name + "' is not reachable", cause);
    }
}

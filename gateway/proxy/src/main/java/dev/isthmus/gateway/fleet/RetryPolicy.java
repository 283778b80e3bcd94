package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.fleet.ReplayableRequest.RepeatSafety;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** Which failures may be followed by another try. */
record RetryPolicy(Retry config) {
    /** What Triton refuses a request with that its scheduler has no room for; over REST with various statuses. */
    private static final String QUEUE_FULL = "Exceeds maximum queue size";

    /** The reason for another try after a failure that came before any answer; null where there is none. */
    @Nullable
    RetryOn reason(OipException failure, RepeatSafety repeat) {
        RetryOn kind = kind(failure);
        boolean harmless = repeat == RepeatSafety.ALWAYS && kind == RetryOn.LOST;
        return kind != null
                        && repeat != RepeatSafety.NEVER
                        && (harmless || config.on().contains(kind))
                ? kind
                : null;
    }

    static @Nullable RetryOn kind(OipException failure) {
        boolean timedOut = failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        return switch (failure.processed()) {
            case NO, REFUSED -> RetryOn.UNSENT;
            case MAYBE -> timedOut ? RetryOn.TIMEOUT : RetryOn.LOST;
            // A server that was told the deadline may say so itself, just before we do.
            case YES -> timedOut ? RetryOn.TIMEOUT : refused(failure) ? RetryOn.UNAVAILABLE : null;
        };
    }

    private static boolean refused(OipException failure) {
        return failure.code() == ErrorCode.UNAVAILABLE || failure.message().contains(QUEUE_FULL);
    }

    /** The largest request that is kept for another try, in bytes. */
    long kept() {
        return config.retries() > 0 ? config.maxBody() : 0;
    }

    /**
     * Whether a question that a server hands back unread is sent again: such a request has not failed, and may be one that
     * must not be repeated (RFC 9113, 8.7).
     */
    boolean resends(ReplayableRequest question) {
        return config.retries() > 0
                && config.on().contains(RetryOn.UNSENT)
                && question.complete()
                && question.bytes() <= config.maxBody();
    }

    /** Whether a request of this size is kept for another try. */
    boolean keeps(ReplayableRequest question) {
        return config.retries() > 0 && question.repeat() != RepeatSafety.NEVER && question.bytes() <= config.maxBody();
    }
}

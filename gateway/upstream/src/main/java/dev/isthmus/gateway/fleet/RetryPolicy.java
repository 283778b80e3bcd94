package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.RepeatSafety;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Which failures may be retried: what a call reads of the configuration.
 *
 * @param maxBody the largest request that is kept for a retry, in bytes
 */
record RetryPolicy(int retries, Set<RetryOn> on, double budget, int maxBody) {
    /** How Triton's message ends if a scheduler queue is full; over REST its status varies. */
    private static final String QUEUE_FULL = "Exceeds maximum queue size";

    RetryPolicy(Retry config) {
        this(config.retries(), config.on(), config.budget(), config.maxBody());
    }

    /**
     * The reason to retry after a failure that came before any response; null if it must not be retried.
     *
     * @param elsewhere whether the server has denied a model that another one has
     */
    @Nullable
    RetryOn reason(OipException failure, boolean elsewhere, RepeatSafety repeat) {
        RetryOn kind = elsewhere ? RetryOn.UNSENT : kind(failure);
        boolean idempotentLoss = repeat == RepeatSafety.ALWAYS && kind == RetryOn.LOST;
        return kind != null && repeat != RepeatSafety.NEVER && (idempotentLoss || on.contains(kind)) ? kind : null;
    }

    static @Nullable RetryOn kind(OipException failure) {
        boolean timedOut = failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        return switch (failure.processed()) {
            case NO, REFUSED -> RetryOn.UNSENT;
            case MAYBE -> timedOut ? RetryOn.TIMEOUT : RetryOn.LOST;
            // A server that knows the deadline may report the timeout itself, just before we do.
            case YES -> timedOut ? RetryOn.TIMEOUT : refused(failure) ? RetryOn.UNAVAILABLE : null;
            case DROPPED -> null;
        };
    }

    private static boolean refused(OipException failure) {
        return failure.code() == ErrorCode.UNAVAILABLE || failure.message().endsWith(QUEUE_FULL);
    }

    /** The largest request that is kept for a retry, in bytes. */
    long kept() {
        return retries > 0 ? maxBody : 0;
    }

    /**
     * Whether a request that a server refused unprocessed is sent again: it has not failed, and may even be one that
     * must not be repeated after a failure (RFC 9113, section 8.7).
     */
    boolean resends(UpstreamRequest request) {
        return retries > 0 && on.contains(RetryOn.UNSENT) && request.bytes() <= maxBody;
    }

    /** Whether this request is kept for a retry. */
    boolean keeps(UpstreamRequest request) {
        return retries > 0 && request.repeat() != RepeatSafety.NEVER && request.bytes() <= maxBody;
    }

    /**
     * The retry budget of a cluster: a share of the calls that succeeded at the first attempt, saved up to a bound, and one
     * per second so that an idle gateway can retry, too. If everything fails nothing is earned, so retries barely add to
     * the load. Lock-free and thread-safe.
     */
    static final class RetryBudget {
        private static final long RETRY = 1_000_000;
        private static final long INITIAL = 10 * RETRY;
        private static final long MAX = 100 * RETRY;
        private static final long FREE_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

        private final long share;
        private final LongSupplier nanoTime;
        private final AtomicLong saved;
        private final AtomicLong lastFree;

        /** @param share of a retry that each call earns; 0 disables retries */
        RetryBudget(double share, LongSupplier nanoTime) {
            this.share = Math.round(share * RETRY);
            this.nanoTime = nanoTime;
            this.saved = new AtomicLong(this.share == 0 ? 0 : INITIAL);
            this.lastFree = new AtomicLong(nanoTime.getAsLong());
        }

        /** The retries that are saved up. */
        double available() {
            return (double) saved.get() / RETRY;
        }

        /** Credits a call that was answered at the first attempt. */
        void earn() {
            long before = saved.get();
            while (before < MAX && !saved.compareAndSet(before, Math.min(MAX, before + share))) {
                before = saved.get();
            }
        }

        /** Takes one retry; false if the budget is exhausted. */
        boolean take() {
            long before = saved.get();
            while (before >= RETRY) {
                if (saved.compareAndSet(before, before - RETRY)) {
                    return true;
                }
                before = saved.get();
            }
            long last = lastFree.get();
            long now = nanoTime.getAsLong();
            return share > 0 && now - last >= FREE_INTERVAL_NANOS && lastFree.compareAndSet(last, now);
        }
    }
}

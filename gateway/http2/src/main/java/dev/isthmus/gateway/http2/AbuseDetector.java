package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import java.util.function.LongSupplier;

/** Weighs the cost of one connection's peer against the useful work that it causes. */
final class AbuseDetector {
    private final AbuseLimits limits;
    private final TokenBucket resetTokens;
    private final TokenBucket errorTokens;
    private final TokenBucket controlTokens;

    /**
     * Control frames still covered by DATA and new streams. Unlimited: a peer may send the WINDOW_UPDATEs for a long
     * response only when it has read the response, long after the last DATA.
     */
    private long credit;

    private long completed;
    private long resets;
    private long errors;
    private long control;
    private long progress;
    private int queued;

    AbuseDetector(AbuseLimits limits, LongSupplier nanos) {
        this.limits = limits;
        this.resetTokens = new TokenBucket(limits.streamResets(), nanos);
        this.errorTokens = new TokenBucket(limits.streamErrors(), nanos);
        this.controlTokens = new TokenBucket(limits.controlFrames(), nanos);
    }

    /** DATA was sent or received, or a stream opened. */
    void progress() {
        progress++;
        credit += limits.controlFramesPerData();
    }

    /** A response to one of the peer's streams is complete. */
    void streamCompleted() {
        completed++;
        resetTokens.refund(1);
    }

    /** The peer reset a stream before any response was sent. */
    void reset() {
        resets++;
        if (!resetTokens.take(1)) {
            throw new Http2Violation(
                    AbuseRule.STREAM_RESETS,
                    resets + " streams reset before a response, " + completed + " completed; the limit is "
                            + limits.streamResets() + ", plus one for each completed stream");
        }
    }

    /** We reset a stream because of the peer's protocol error. */
    void error() {
        errors++;
        if (!errorTokens.take(1)) {
            throw new Http2Violation(
                    AbuseRule.STREAM_ERRORS,
                    errors + " streams with protocol errors; the limit is " + limits.streamErrors());
        }
    }

    /** A control frame was received. */
    void control() {
        control(1);
    }

    /** @param cost of the frame, in units of one PING */
    void control(int cost) {
        control += cost;
        if (credit >= cost) {
            credit -= cost;
        } else if (!controlTokens.take(cost)) {
            throw new Http2Violation(
                    AbuseRule.CONTROL_FRAMES,
                    control + " control frames with only " + progress
                            + " streams and DATA frames; the limit is " + limits.controlFrames() + ", plus "
                            + limits.controlFramesPerData() + " for each stream and DATA frame");
        }
    }

    /** A frame that is not flow-controlled was queued while the peer is not reading. */
    void queued() {
        queued++;
    }

    /** The peer is reading again. */
    void drained() {
        queued = 0;
    }

    /**
     * Checks the number of queued frames. Kept apart from {@link #queued}, which is called while a response is written.
     */
    void checkQueued() {
        if (queued > limits.queuedFrames() && limits.queuedFrames() > 0) {
            throw new Http2Violation(
                    AbuseRule.QUEUED_FRAMES,
                    queued + " frames queued for a peer that is not reading; the limit is " + limits.queuedFrames());
        }
    }

    /** A token bucket, initially full. Tokens are refilled over time and may be returned. For one event loop. */
    private static final class TokenBucket {
        private static final double NANOS_PER_SECOND = 1e9;

        private final BucketLimit limit;
        private final LongSupplier nanos;
        private double tokens;
        private long refilledAt;

        TokenBucket(BucketLimit limit, LongSupplier nanos) {
            this.limit = limit;
            this.nanos = nanos;
            this.tokens = limit.burst();
            this.refilledAt = nanos.getAsLong();
        }

        /** Takes tokens; returns false if there are too few. */
        boolean take(long count) {
            if (limit.burst() == 0) {
                return true;
            }
            long now = nanos.getAsLong();
            refund((now - refilledAt) / NANOS_PER_SECOND * limit.perSecond());
            refilledAt = now;
            tokens -= count;
            return tokens >= 0;
        }

        /** Returns tokens; the bucket never holds more than the burst. */
        void refund(double count) {
            tokens = Math.min(limit.burst(), tokens + count);
        }
    }
}

package dev.isthmus.gateway.http2;

import java.util.function.LongSupplier;

/** Weighs what the peer of one connection costs against what it gets done. */
final class AbuseDetector {
    private final AbuseLimits limits;
    private final TokenBucket resetTokens;
    private final TokenBucket errorTokens;
    private final TokenBucket controlTokens;

    /**
     * Control frames that DATA and new streams have paid for. Without a limit: a peer may send the WINDOW_UPDATEs for a long
     * answer when it has read it, a long time after the last DATA.
     */
    private long paid;

    private long answered;
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
        paid += limits.controlFramesPerData();
    }

    /** A stream of the peer's has been answered in full. */
    void answered() {
        answered++;
        resetTokens.give(1);
    }

    /** The peer has reset a stream before anything was answered. */
    void reset() {
        resets++;
        if (!resetTokens.take(1)) {
            throw new Http2Violation(
                    AbuseRule.STREAM_RESETS,
                    resets + " streams reset before an answer, " + answered + " answered; allowed are "
                            + limits.streamResets() + ", and as many as are answered");
        }
    }

    /** We have reset a stream because the peer broke the protocol on it. */
    void error() {
        errors++;
        if (!errorTokens.take(1)) {
            throw new Http2Violation(
                    AbuseRule.STREAM_ERRORS,
                    errors + " streams on which the protocol was broken; allowed are " + limits.streamErrors());
        }
    }

    /** A frame that carries nothing came. */
    void control() {
        control(1);
    }

    /** @param cost of the frame, in that of a PING */
    void control(int cost) {
        control += cost;
        if (paid >= cost) {
            paid -= cost;
        } else if (!controlTokens.take(cost)) {
            throw new Http2Violation(
                    AbuseRule.CONTROL_FRAMES,
                    control + " frames that carry nothing, beside " + progress
                            + " streams and frames of DATA; allowed are " + limits.controlFrames() + ", and "
                            + limits.controlFramesPerData() + " for each stream and frame of DATA");
        }
    }

    /** A frame that no window holds back waits for the peer to read. */
    void queued() {
        queued++;
    }

    /** The peer reads. */
    void drained() {
        queued = 0;
    }

    /** Checks what waits; not where it is queued, which is in the midst of an answer. */
    void checkQueued() {
        if (queued > limits.queuedFrames() && limits.queuedFrames() > 0) {
            throw new Http2Violation(
                    AbuseRule.QUEUED_FRAMES,
                    queued + " frames wait for a peer that does not read; allowed are " + limits.queuedFrames());
        }
    }
}

package dev.isthmus.gateway.shadow;

/** What happened to a call that was sampled. */
enum ShadowOutcome {
    ANSWERED("answered", "none"),
    FAILED("failed", "none"),
    TIMEOUT("timeout", "none"),
    /** The limit of copies in flight is reached. */
    BUSY("dropped", "busy"),
    /** The memory limit of all copies is reached. */
    MEMORY("dropped", "memory"),
    /** The primary call ended before the copy was sent. */
    LATE("dropped", "main_ended"),
    /** The gateway is shutting down. */
    CLOSED("dropped", "closed"),
    /** It has a stream of responses. */
    STREAM("left_out", "stream"),
    /** It belongs to a sequence, whose state on the shadow would be missing or corrupted. */
    SEQUENCE("left_out", "sequence"),
    /** It was sent to the same target as the copy would be. */
    SAME_TARGET("left_out", "same_target"),
    /** It cannot be encoded for the shadow, or its tensors are in shared memory. */
    UNSENDABLE("left_out", "unsendable");

    private final String label;
    private final String reason;

    ShadowOutcome(String label, String reason) {
        this.label = label;
        this.reason = reason;
    }

    /** The metric's tag value. */
    String label() {
        return label;
    }

    /** Why it was not sent; "none" if it was. */
    String reason() {
        return reason;
    }
}

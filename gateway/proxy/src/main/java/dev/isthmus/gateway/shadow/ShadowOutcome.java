package dev.isthmus.gateway.shadow;

/** What became of a call that was chosen to be copied. */
enum ShadowOutcome {
    ANSWERED("answered", "none"),
    FAILED("failed", "none"),
    TIMEOUT("timeout", "none"),
    /** As many copies as are allowed are under way. */
    BUSY("dropped", "busy"),
    /** All copies together hold as many bytes as they may. */
    MEMORY("dropped", "memory"),
    /** The main call was over before the copy could be sent. */
    LATE("dropped", "main_ended"),
    /** The gateway is closing. */
    CLOSED("dropped", "closed"),
    /** It is a stream of answers. */
    STREAM("left_out", "stream"),
    /** It belongs to a sequence, whose state would be lost on the shadow, or spoilt. */
    SEQUENCE("left_out", "sequence"),
    /** It went where the copy would go. */
    SAME_TARGET("left_out", "same_target"),
    /** It cannot be put on the shadow's wire, or its tensors lie in shared memory. */
    UNSENDABLE("left_out", "unsendable");

    private final String label;
    private final String reason;

    ShadowOutcome(String label, String reason) {
        this.label = label;
        this.reason = reason;
    }

    /** What metrics call it. */
    String label() {
        return label;
    }

    /** Why it was not sent; "none" where it was. */
    String reason() {
        return reason;
    }
}

package dev.isthmus.gateway.payloadlog;

/** Why an event has no data. */
enum MissingData {
    /** The body is larger than {@code max_size}. */
    SIZE("size"),
    /** The body was not complete when the call ended. */
    INCOMPLETE("incomplete"),
    /** The body violates the protocol, or its tensors are in shared memory. */
    UNREADABLE("unreadable"),
    /** A raw binary request, which does not name its tensor, while tensors are left out by name. */
    RAW("raw");

    private final String label;

    MissingData(String label) {
        this.label = label;
    }

    /** The value of the attribute {@code dataomitted}, and the metric's tag. */
    String label() {
        return label;
    }
}

package dev.isthmus.gateway.payloadlog;

/** Why an event was not logged. */
enum LossReason {
    /** Too much waits to be written: the sink is slower than the calls. */
    FULL("full"),
    /** The file cannot be written, or the sink cannot be reached. */
    IO_ERROR("io_error"),
    /** The sink answered with a status other than 2xx. */
    REJECTED("rejected"),
    /** The log was closed before it was written. */
    CLOSED("closed"),
    /** The gateway failed to encode it. */
    FAULT("fault");

    private final String label;

    LossReason(String label) {
        this.label = label;
    }

    /** The metric's tag value. */
    String label() {
        return label;
    }
}

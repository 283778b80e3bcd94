package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.net.Labelled;

/** Why an event has no data. */
enum MissingData implements Labelled {
    /** The body is larger than {@code max_size}. */
    SIZE,
    /** The body was not complete when the call ended. */
    INCOMPLETE,
    /** The body violates the protocol, or its tensors are in shared memory. */
    UNREADABLE,
    /** A raw binary request, which does not name its tensor, while tensors are left out by name. */
    RAW
}

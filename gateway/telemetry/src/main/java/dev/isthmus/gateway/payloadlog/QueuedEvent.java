package dev.isthmus.gateway.payloadlog;

/** An event that waits to be encoded. Owns its payloads. */
sealed interface QueuedEvent permits PayloadEvent, CombinedEvent {

    /** Bytes that are reserved for its payloads. */
    long held();

    /** Releases the payloads. */
    void release();
}

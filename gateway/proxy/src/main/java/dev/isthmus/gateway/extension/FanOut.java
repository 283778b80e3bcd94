package dev.isthmus.gateway.extension;

/** Which servers an operation is asked of, and what its client is told. */
public enum FanOut {
    /** One server's own answer: the first target's, where a model is named, otherwise the default upstream's. */
    ONE_SERVER,
    /** As {@link #ONE_SERVER}, of a server that is ready as long as there is one. */
    ONE_READY_SERVER,
    /** The index of all servers that have the extension, merged; nothing in it is older than a second. */
    MERGED_INDEX,
    /** The statistics of all servers of the model that have the extension, or of all servers, summed. */
    SUMMED_STATISTICS,
    /** Every server of the model must do it; the client is told that all did, or which did not. */
    EVERY_SERVER;

    /** Whether the client is told one server's answer as it is, so that all servers must have the extension. */
    public boolean passedOn() {
        return this == ONE_SERVER || this == ONE_READY_SERVER;
    }
}

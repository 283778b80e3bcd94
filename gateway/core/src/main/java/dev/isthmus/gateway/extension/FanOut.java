package dev.isthmus.gateway.extension;

/** Which servers a request is sent to, and how their responses are combined. */
public enum FanOut {
    /** The response of one server: of the first target if a model is named, otherwise of the default upstream. */
    ONE_SERVER,
    /** As {@link #ONE_SERVER}, preferring a ready server. */
    ONE_READY_SERVER,
    /** The merged index of all servers that have the extension, at most a second old. */
    MERGED_INDEX,
    /** The summed statistics of the model's servers, or of all servers, that have the extension. */
    SUMMED_STATISTICS,
    /** Every server of the model must succeed; the response reports success, or the servers that failed. */
    EVERY_SERVER;

    /** Whether the client gets one server's response unchanged, so that all servers must have the extension. */
    public boolean forwardsResponse() {
        return this == ONE_SERVER || this == ONE_READY_SERVER;
    }

    /**
     * Whether a request that a server may already have processed may be sent to another one: what is read of any server
     * may, not what is the state of one of them, nor a change.
     */
    boolean repeatable() {
        return this != ONE_SERVER && this != EVERY_SERVER;
    }
}

package dev.isthmus.gateway.settings;

import java.util.Locale;

/** What a caller may do: the kinds of operations that policies distinguish. */
public enum Permission {
    /** One request, one response. */
    INFER,
    /** Streams of requests, and inferences with a stream of responses. */
    STREAM,
    /** The generate extension. */
    GENERATE,
    /** Metadata of the server and of models, configurations of models, the repository index. */
    METADATA,
    /** Liveness and readiness. */
    HEALTH,
    STATISTICS,
    /** Loading and unloading models. */
    LOAD,
    TRACE,
    LOG,
    SHARED_MEMORY;

    /** Whether its operations change servers, or show how they are set up. */
    public boolean management() {
        return this == LOAD || this == TRACE || this == LOG || this == SHARED_MEMORY;
    }

    /** The name in configuration and messages. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}

package dev.isthmus.oip;

import java.util.Locale;

/**
 * Why a call failed or was refused. This is the only set of causes: its labels are those of the access log, of metrics,
 * of traces and of the response header, and docs/reference/errors.md describes each. Those of clients come first.
 */
public enum FailureCause {
    CLIENT_GONE,
    CLIENT_SLOW,
    CLIENT_DEADLINE,
    INVALID,
    VALIDATION,
    TOO_LARGE,
    NOT_FOUND,
    UNSUPPORTED,
    UNAUTHENTICATED,
    FORBIDDEN,
    RATE_LIMIT,
    CALLER_LIMIT,
    LOOP,
    GATEWAY_LIMIT,
    MEMORY,
    ADAPTIVE_LIMIT,
    BREAKER,
    BULKHEAD,
    NO_SERVER,
    QUEUE_CALLER_FULL,
    QUEUE_DISPLACED,
    QUEUE_FULL,
    QUEUE_TIMEOUT,
    QUEUE_TOO_LATE,
    CONNECT,
    CONNECTION_LOST,
    CONNECTIONS_FULL,
    SERVER_REFUSED,
    TIMEOUT,
    BAD_RESPONSE,
    RESPONSE_TOO_LARGE,
    SERVER,
    UNAVAILABLE,
    SHUTDOWN,
    REMOVED,
    INTERNAL;

    private final String label = name().toLowerCase(Locale.ROOT);

    /** The name in lower case, as everything outside has it. */
    public String label() {
        return label;
    }

    /** Whether the client causes it: such a failure counts against no objective. Of {@link #SERVER} the code tells. */
    public boolean isClients() {
        return compareTo(CALLER_LIMIT) <= 0 || this == QUEUE_CALLER_FULL;
    }
}

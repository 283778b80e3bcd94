package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;

/** How a call to one server ended, with respect to the server's health. */
enum CallOutcome implements Labelled {
    /** The server responded, possibly with an error caused by the request. */
    ANSWERED,
    /** The server responded with an error of its own, or of the model: 500, INTERNAL, UNKNOWN, DATA_LOSS. */
    ERROR,
    /** The server responded that it is unavailable: 503. */
    UNAVAILABLE,
    /** The server gave no valid response: unreachable, connection lost, timed out, protocol violated. */
    FAILED,
    /** No evidence about the server: the call was cancelled, or the server refused it unprocessed. */
    CANCELLED;

    /** What the labels mean. */
    static final String LABELS = "error: answered with a 5xx status other than 502, 503 and 504; unavailable: answered"
            + " 503; failed: no valid response; cancelled: no evidence about the server";

    /**
     * The outcome of a call that ended with this failure.
     *
     * @param fullTimeout whether the call had the full configured timeout; a timeout shortened by the client is no
     *     evidence against the server
     */
    static CallOutcome of(OipException failure, boolean fullTimeout) {
        if (failure.processed() == Processed.REFUSED) {
            return CANCELLED;
        }
        if (failure.isResponseDropped()) {
            return ANSWERED;
        }
        return switch (failure.code()) {
            // For lack of the gateway's own memory.
            case OVERLOADED -> CANCELLED;
            case UNAVAILABLE -> failure.processed() == Processed.YES ? UNAVAILABLE : FAILED;
            case BAD_UPSTREAM_ANSWER -> FAILED;
            case UNKNOWN, INTERNAL, DATA_LOSS -> ERROR;
            case DEADLINE_EXCEEDED -> fullTimeout ? FAILED : CANCELLED;
            default -> ANSWERED;
        };
    }
}

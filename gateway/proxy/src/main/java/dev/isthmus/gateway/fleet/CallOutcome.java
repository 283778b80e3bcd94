package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;

/** How a call to one server ended, with respect to the server's health. */
enum CallOutcome {
    /** The server responded, possibly with an error caused by the request or the model. */
    ANSWERED,
    /**
     * The server failed: unreachable, connection lost, timed out, UNAVAILABLE, or a response that violates the
     * protocol.
     */
    FAILED,
    /** No evidence about the server: the call was cancelled, or the server refused it unprocessed. */
    CANCELLED;

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
            case UNAVAILABLE, OVERLOADED, BAD_UPSTREAM_ANSWER -> FAILED;
            case DEADLINE_EXCEEDED -> fullTimeout ? FAILED : CANCELLED;
            case CANCELLED,
                    UNKNOWN,
                    INVALID_ARGUMENT,
                    NOT_FOUND,
                    ALREADY_EXISTS,
                    PERMISSION_DENIED,
                    RESOURCE_EXHAUSTED,
                    FAILED_PRECONDITION,
                    ABORTED,
                    OUT_OF_RANGE,
                    UNIMPLEMENTED,
                    INTERNAL,
                    DATA_LOSS,
                    UNAUTHENTICATED,
                    METHOD_NOT_ALLOWED,
                    PAYLOAD_TOO_LARGE,
                    REQUEST_TIMEOUT,
                    URI_TOO_LONG,
                    UNSUPPORTED_MEDIA_TYPE,
                    EXPECTATION_FAILED,
                    HEADERS_TOO_LARGE,
                    HTTP_VERSION_NOT_SUPPORTED,
                    LOOP_DETECTED -> ANSWERED;
        };
    }
}

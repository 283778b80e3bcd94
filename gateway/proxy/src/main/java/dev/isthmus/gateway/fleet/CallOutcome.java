package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;

/** How a call to one server ended, as far as it tells of the server's health. */
enum CallOutcome {
    /** The server answered, be it with an error of the request's or the model's. */
    ANSWERED,
    /** It failed as servers fail: unreachable, connection lost, timed out, UNAVAILABLE, an answer that is not the protocol's. */
    FAILED,
    /** It says nothing of the server: nobody waited for the end, or the server handed it back unread. */
    CANCELLED;

    /**
     * What a failure says.
     *
     * @param patient whether the call had all the time that the configuration gives; a client that gives less says nothing
     *     of the server by it
     */
    static CallOutcome of(OipException failure, boolean patient) {
        if (failure.processed() == Processed.REFUSED) {
            return CANCELLED;
        }
        if (failure.dropsAnswer()) {
            return ANSWERED;
        }
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, BAD_UPSTREAM_ANSWER -> FAILED;
            case DEADLINE_EXCEEDED -> patient ? FAILED : CANCELLED;
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

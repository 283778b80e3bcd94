package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Collection;
import java.util.Comparator;

/** Orders failures by what a client should see first: server faults before rejections. */
final class FailureSeverity {

    private FailureSeverity() {}

    /** The worst failure; the first of equally bad ones. */
    static OipException worst(Collection<OipException> failures) {
        return failures.stream()
                .min(Comparator.comparingInt(failure -> rank(failure.code())))
                .orElseThrow();
    }

    private static int rank(ErrorCode code) {
        return switch (code) {
            case INTERNAL, DATA_LOSS, UNKNOWN -> 0;
            case BAD_UPSTREAM_ANSWER, LOOP_DETECTED -> 1;
            case DEADLINE_EXCEEDED -> 2;
            case UNAVAILABLE, OVERLOADED -> 3;
            case RESOURCE_EXHAUSTED -> 4;
            case CANCELLED, ABORTED -> 5;
            case UNIMPLEMENTED, METHOD_NOT_ALLOWED -> 6;
            case UNAUTHENTICATED, PERMISSION_DENIED -> 7;
            case FAILED_PRECONDITION, ALREADY_EXISTS, OUT_OF_RANGE -> 8;
            case INVALID_ARGUMENT,
                    PAYLOAD_TOO_LARGE,
                    REQUEST_TIMEOUT,
                    URI_TOO_LONG,
                    UNSUPPORTED_MEDIA_TYPE,
                    EXPECTATION_FAILED,
                    HEADERS_TOO_LARGE,
                    HTTP_VERSION_NOT_SUPPORTED -> 9;
            case NOT_FOUND -> 10;
        };
    }
}

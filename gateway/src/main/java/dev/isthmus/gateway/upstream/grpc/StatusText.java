package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.grpc.Status;

/**
 * What a gRPC status that is not OK becomes. The server's own keeps code and description; one that gRPC made on this side
 * gets a text of ours, because gRPC's name addresses and exceptions.
 */
record StatusText(UpstreamFailures failures, long maxMessageBytes) {

    OipException ofServer(Status status) {
        ErrorCode code = ErrorCode.ofGrpcStatus(status.getCode().value());
        String description = status.getDescription();
        return description == null || description.isEmpty()
                ? failures.failure(code, "answered " + status.getCode(), status.getCause())
                : new OipException(code, description, status.getCause());
    }

    /**
     * A status made on this side.
     *
     * @param connected whether the request had a connection
     * @param timeoutNanos what the call had been given
     */
    OipException ofOurs(Status status, boolean connected, long timeoutNanos) {
        Exception cause = status.asException();
        return switch (status.getCode()) {
            case DEADLINE_EXCEEDED -> failures.timedOut(timeoutNanos, cause);
            case UNAVAILABLE, CANCELLED -> unavailable(status, connected, cause);
            case RESOURCE_EXHAUSTED ->
                tooLarge(status)
                        ? failures.answerTooLarge(maxMessageBytes, cause)
                        : failures.failure(ErrorCode.RESOURCE_EXHAUSTED, "refused the call", cause);
            case OK,
                    UNKNOWN,
                    INVALID_ARGUMENT,
                    NOT_FOUND,
                    ALREADY_EXISTS,
                    PERMISSION_DENIED,
                    FAILED_PRECONDITION,
                    ABORTED,
                    OUT_OF_RANGE,
                    UNIMPLEMENTED,
                    INTERNAL,
                    DATA_LOSS,
                    UNAUTHENTICATED -> failures.badAnswer("did not answer in gRPC", cause);
        };
    }

    /** gRPC tells a stream that the server refused unread from one that it may have read by its text only. */
    private OipException unavailable(Status status, boolean connected, Exception cause) {
        String description = String.valueOf(status.getDescription());
        if (!connected) {
            return failures.unreachable(cause);
        }
        return description.contains("REFUSED_STREAM") || description.contains("Abrupt GOAWAY closed")
                ? failures.refused(cause)
                : failures.connectionClosed(cause);
    }

    private static boolean tooLarge(Status status) {
        String description = status.getDescription();
        return description != null && description.contains("exceeds maximum size");
    }
}

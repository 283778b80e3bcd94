package dev.isthmus.oip;

/**
 * The kind of a failure, with its HTTP and gRPC status. This is the only mapping to either status: the canonical one of
 * google.rpc.Code, plus the codes that only HTTP has.
 */
public enum ErrorCode {
    CANCELLED(499, 1, FailureCause.CLIENT_GONE),
    UNKNOWN(500, 2, FailureCause.SERVER),
    INVALID_ARGUMENT(400, 3, FailureCause.INVALID),
    DEADLINE_EXCEEDED(504, 4, FailureCause.TIMEOUT),
    NOT_FOUND(404, 5, FailureCause.NOT_FOUND),
    ALREADY_EXISTS(409, 6, FailureCause.SERVER),
    PERMISSION_DENIED(403, 7, FailureCause.FORBIDDEN),
    RESOURCE_EXHAUSTED(429, 8, FailureCause.RATE_LIMIT),
    FAILED_PRECONDITION(400, 9, FailureCause.SERVER),
    ABORTED(409, 10, FailureCause.SERVER),
    OUT_OF_RANGE(400, 11, FailureCause.SERVER),
    UNIMPLEMENTED(501, 12, FailureCause.UNSUPPORTED),
    INTERNAL(500, 13, FailureCause.INTERNAL),
    UNAVAILABLE(503, 14, FailureCause.UNAVAILABLE),
    DATA_LOSS(500, 15, FailureCause.SERVER),
    UNAUTHENTICATED(401, 16, FailureCause.UNAUTHENTICATED),
    /** The path does not support the HTTP method. */
    METHOD_NOT_ALLOWED(405, 12, FailureCause.UNSUPPORTED),
    /** The client took too long to send the request. */
    REQUEST_TIMEOUT(408, 4, FailureCause.CLIENT_SLOW),
    /** The body, or one tensor of it, is larger than configured. */
    PAYLOAD_TOO_LARGE(413, 8, FailureCause.TOO_LARGE),
    /** The request line is longer than configured. */
    URI_TOO_LONG(414, 3, FailureCause.TOO_LARGE),
    /** The content type or content encoding is not supported. */
    UNSUPPORTED_MEDIA_TYPE(415, 12, FailureCause.UNSUPPORTED),
    /** The {@code Expect} header is not {@code 100-continue}. */
    EXPECTATION_FAILED(417, 3, FailureCause.UNSUPPORTED),
    /** More header fields, or larger ones, than configured. */
    HEADERS_TOO_LARGE(431, 8, FailureCause.TOO_LARGE),
    HTTP_VERSION_NOT_SUPPORTED(505, 12, FailureCause.UNSUPPORTED),
    /** The request cannot be queued: the queue in front of its executor is full. */
    OVERLOADED(503, 8, FailureCause.MEMORY),
    /** The call passed through more gateways than configured; one of them probably is its own upstream. */
    LOOP_DETECTED(508, 13, FailureCause.LOOP),
    /** The upstream's response violates the protocol. */
    BAD_UPSTREAM_ANSWER(502, 13, FailureCause.BAD_RESPONSE);

    private static final ErrorCode[] ALL = values();

    private final int httpStatus;
    private final int grpcStatus;
    private final FailureCause usual;

    ErrorCode(int httpStatus, int grpcStatus, FailureCause usual) {
        this.httpStatus = httpStatus;
        this.grpcStatus = grpcStatus;
        this.usual = usual;
    }

    public int httpStatus() {
        return httpStatus;
    }

    public int grpcStatus() {
        return grpcStatus;
    }

    /** The cause of a failure with this code that has no other one. */
    FailureCause usualCause() {
        return usual;
    }

    /** The code for a gRPC status received from a peer; {@link #UNKNOWN} for numbers that gRPC does not define. */
    public static ErrorCode ofGrpcStatus(int status) {
        for (ErrorCode code : ALL) {
            // The first one is the canonical one.
            if (code.grpcStatus == status) {
                return code;
            }
        }
        return UNKNOWN;
    }

    /**
     * The code for an HTTP error status received from a peer; for a status without a code, the general one of its
     * class.
     */
    public static ErrorCode ofHttpStatus(int status) {
        return switch (status) {
            case 401 -> UNAUTHENTICATED;
            case 403 -> PERMISSION_DENIED;
            case 404 -> NOT_FOUND;
            case 405 -> METHOD_NOT_ALLOWED;
            case 408 -> REQUEST_TIMEOUT;
            case 504 -> DEADLINE_EXCEEDED;
            case 409 -> ALREADY_EXISTS;
            case 413 -> PAYLOAD_TOO_LARGE;
            case 415 -> UNSUPPORTED_MEDIA_TYPE;
            case 429 -> RESOURCE_EXHAUSTED;
            case 499 -> CANCELLED;
            case 501 -> UNIMPLEMENTED;
            case 502 -> BAD_UPSTREAM_ANSWER;
            case 503 -> UNAVAILABLE;
            case 508 -> LOOP_DETECTED;
            default -> status >= 400 && status < 500 ? INVALID_ARGUMENT : INTERNAL;
        };
    }
}

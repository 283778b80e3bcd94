package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.upstream.ServerDelay;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * The status with which a server ended a call.
 *
 * @param code of the failure; null for success
 * @param message empty if the server sent none
 * @param trailers that contain it
 */
record ServerStatus(@Nullable ErrorCode code, String message, Http2Headers trailers) {
    private static final int MAX_DIGITS = 3;

    /** The status in these trailers; null if there is none. */
    static @Nullable ServerStatus in(Http2Headers trailers) {
        CharSequence status = trailers.get(GrpcNames.STATUS);
        if (status == null) {
            return null;
        }
        if (status.length() == 1 && status.charAt(0) == '0') {
            return new ServerStatus(null, "", trailers);
        }
        CharSequence message = trailers.get(GrpcNames.MESSAGE);
        ErrorCode code = ErrorCode.ofGrpcStatus(number(status));
        return new ServerStatus(code, message == null ? "" : StatusMessage.decoded(message), trailers);
    }

    /** A failure with the time that the trailers ask for. */
    OipException delayed(OipException failure) {
        return ServerDelay.of(failure, trailers.get(ServerDelay.RETRY_AFTER), trailers.get(ServerDelay.PUSHBACK));
    }

    /** Negative if it is not a number. */
    private static int number(CharSequence status) {
        boolean digits = !status.isEmpty()
                && status.length() <= MAX_DIGITS
                && status.chars().allMatch(c -> c >= '0' && c <= '9');
        return digits ? Integer.parseInt(status, 0, status.length(), 10) : -1;
    }
}

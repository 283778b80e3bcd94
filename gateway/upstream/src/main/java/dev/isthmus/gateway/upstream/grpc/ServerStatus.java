package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.upstream.ServerDelay;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
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
    /** Of a message that is kept: many clients accept 8 KiB of trailers and close the connection at more. */
    private static final int MAX_MESSAGE = 4096;

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
        return new ServerStatus(code, message == null ? "" : text(message), trailers);
    }

    private static String text(CharSequence message) {
        if (message.length() <= MAX_MESSAGE) {
            return StatusMessage.decoded(message);
        }
        // Not within an escape of three characters.
        int escape = AsciiString.of(message).lastIndexOf("%", MAX_MESSAGE - 1);
        int end = escape > MAX_MESSAGE - 3 ? escape : MAX_MESSAGE;
        return StatusMessage.decoded(message.subSequence(0, end)) + "...";
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

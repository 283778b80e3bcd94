package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Maps the ways a call can fail to errors. A server's own status keeps its code and message, except for what gRPC
 * libraries report for messages that are too large: that is no overload, and retrying does not help.
 */
record StatusText(UpstreamFailures failures, long maxMessageBytes) {

    OipException ofServer(ErrorCode code, String message) {
        if (message.isEmpty()) {
            return failures.failure(code, "returned " + code, null);
        }
        return OipException.ofServer(tooLarge(code, message) ? ErrorCode.PAYLOAD_TOO_LARGE : code, message);
    }

    /**
     * Whether it is the message size limit: "Received message larger than max (9 vs. 8)" and "Sent message …" of gRPC's
     * C core, likewise grpc-go and grpc-js, "gRPC message exceeds maximum size 8: 9" of grpc-java, "message exceeds the
     * maximum configured message size" of grpc-dotnet, "message length too large: found 9 bytes" of tonic, with
     * OUT_OF_RANGE.
     */
    private static boolean tooLarge(ErrorCode code, String message) {
        return switch (code) {
            case RESOURCE_EXHAUSTED ->
                message.contains("message")
                        && (message.contains("larger than max")
                                || (message.contains(" exceeds ") && message.contains(" maximum ")));
            case OUT_OF_RANGE -> message.contains("message length too large");
            default -> false;
        };
    }

    /** The failure of a response whose headers are not those of gRPC; null if they are. */
    @Nullable
    OipException ofHead(Http2Headers headers) {
        CharSequence status = headers.status();
        if (status == null || !"200".contentEquals(status)) {
            return ofHttp(status == null ? "" : status);
        }
        return GrpcNames.isGrpc(headers.get(HttpHeaderNames.CONTENT_TYPE)) ? null : notGrpc(null);
    }

    /** The stream ended without a status. */
    OipException of(StreamEnd end) {
        return switch (end.kind()) {
            case REFUSED -> failures.refused(end.cause());
            case LOST -> lost(end);
            case VIOLATION ->
                end.errorCode() == Http2Error.ENHANCE_YOUR_CALM.code()
                        ? failures.tooLarge("more header fields than are accepted", end.cause())
                        : notGrpc(end.cause());
            case RESET -> ofReset(end);
        };
    }

    private OipException lost(StreamEnd end) {
        if (end.cause() instanceof OipException own) {
            return own;
        }
        return end.isPeerViolation() ? failures.protocolViolation(end.cause()) : failures.connectionClosed(end.cause());
    }

    /**
     * The mapping of gRPC over HTTP/2, "Errors", with this gateway's messages and codes. A refusal after the response
     * began does not imply that the request was not processed.
     */
    private OipException ofReset(StreamEnd end) {
        Http2Error code = Http2Error.valueOf(end.errorCode());
        return switch (code == null ? Http2Error.INTERNAL_ERROR : code) {
            case NO_ERROR, CANCEL, REFUSED_STREAM -> failures.connectionClosed(end.cause());
            case ENHANCE_YOUR_CALM -> failures.failure(ErrorCode.RESOURCE_EXHAUSTED, "refused the call", end.cause());
            case PROTOCOL_ERROR,
                    INTERNAL_ERROR,
                    FLOW_CONTROL_ERROR,
                    SETTINGS_TIMEOUT,
                    STREAM_CLOSED,
                    FRAME_SIZE_ERROR,
                    COMPRESSION_ERROR,
                    CONNECT_ERROR,
                    INADEQUATE_SECURITY,
                    HTTP_1_1_REQUIRED -> notGrpc(end.cause());
        };
    }

    /**
     * A response without a gRPC status: from an intermediary, or from a server that does not speak gRPC. The mapping is
     * gRPC's (http-grpc-status-mapping), except that a 4xx keeps its meaning for REST clients: with UNAVAILABLE for 429
     * and INTERNAL for 400, a client's own mistakes would count as failures of the server.
     */
    private OipException ofHttp(CharSequence status) {
        int number = number(status);
        ErrorCode code = switch (number) {
            case 404 -> ErrorCode.UNIMPLEMENTED;
            case 502, 503, 504 -> ErrorCode.UNAVAILABLE;
            default -> number < 500 ? ErrorCode.ofHttpStatus(number) : ErrorCode.UNKNOWN;
        };
        return number < 400 || number > 599
                ? notGrpc(null)
                : failures.failure(code, "returned HTTP status " + status, null);
    }

    /** Three digits as a number, as {@code :status} has them; 0 if there is none. */
    private static int number(CharSequence status) {
        return status.isEmpty() ? 0 : Integer.parseInt(status, 0, status.length(), 10);
    }

    /** A message that could not be read. */
    OipException ofMessage(OipException refusal, long limit) {
        if (refusal.code() != ErrorCode.PAYLOAD_TOO_LARGE) {
            return notGrpc(refusal);
        }
        return failures.tooLarge("a response of more than " + limit + " bytes: " + refusal.message(), refusal);
    }

    OipException notGrpc(@Nullable Throwable cause) {
        return failures.badResponse("sent a response that is not gRPC", cause);
    }

    OipException noStatus() {
        return failures.badResponse("ended its response without a status", null);
    }
}

package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/**
 * What the ways in which a call can fail become. A status of the server's own keeps code and description, but for what gRPC's
 * libraries say of messages that are too large: it is no overload, and does not go by if one tries again.
 */
record StatusText(UpstreamFailures failures, long maxMessageBytes) {

    OipException ofServer(ErrorCode code, String message) {
        if (message.isEmpty()) {
            return failures.failure(code, "answered " + code, null);
        }
        return new OipException(tooLarge(code, message) ? ErrorCode.PAYLOAD_TOO_LARGE : code, message).confidential();
    }

    /**
     * Whether it is the limit of a message's size: "Received message larger than max (9 vs. 8)" and "Sent message …" of
     * gRPC's C core, which grpc-go and grpc-js say alike, "gRPC message exceeds maximum size 8: 9" of grpc-java, "message
     * exceeds the maximum configured message size" of grpc-dotnet, "message length too large: found 9 bytes" of tonic, which
     * says OUT_OF_RANGE.
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

    /** A stream that ended without a status. */
    OipException of(StreamEnd end) {
        return switch (end.kind()) {
            case REFUSED -> failures.refused(end.cause());
            case LOST -> lost(end);
            case VIOLATION -> notGrpc(end.cause());
            case RESET -> ofReset(end);
        };
    }

    private OipException lost(StreamEnd end) {
        if (end.cause() instanceof OipException ours) {
            return ours;
        }
        return end.peerBrokeRules() ? failures.brokeProtocol(end.cause()) : failures.connectionClosed(end.cause());
    }

    /**
     * The mapping of gRPC over HTTP/2, "Errors", with the texts and codes that such failures have here. A refusal after the
     * answer began does not say that nothing was done.
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

    /** A response without a gRPC status: of something between, or of a server that does not speak gRPC. */
    OipException ofHttp(CharSequence status) {
        return switch (status.toString()) {
            case "429", "502", "503", "504" ->
                failures.failure(ErrorCode.UNAVAILABLE, "answered with HTTP status " + status, null);
            default -> notGrpc(null);
        };
    }

    /** A message that could not be taken. */
    OipException ofMessage(OipException refusal) {
        return refusal.code() == ErrorCode.PAYLOAD_TOO_LARGE
                ? failures.answerTooLarge(maxMessageBytes, refusal)
                : notGrpc(refusal);
    }

    OipException notGrpc(@Nullable Throwable cause) {
        return failures.badAnswer("did not answer in gRPC", cause);
    }

    OipException noStatus() {
        return failures.badAnswer("ended its answer without a status", null);
    }
}

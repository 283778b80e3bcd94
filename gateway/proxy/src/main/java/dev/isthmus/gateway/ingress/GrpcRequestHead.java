package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * What the head of a gRPC request says.
 *
 * @param coding of the client's messages, and of ours to it; null for identity
 * @param timeout nanoseconds that the call has; {@link Call#NO_DEADLINE} for no limit
 * @param form of a stream's answers, where the client wants another one than the configuration
 * @param statusOfErrors whether the client wants a stream ended by its first error
 */
record GrpcRequestHead(
        GrpcRoutes.GrpcMethod method,
        @Nullable ContentCoding coding,
        long timeout,
        @Nullable StreamMessageForm form,
        boolean statusOfErrors) {
    /** Lets one client say what the configuration says for all. */
    private static final AsciiString STREAM_FORM = AsciiString.cached("isthmus-stream-form");

    /**
     * Asks for a stream to be ended by its first error with a status, instead of going on after the text of it. It is answered
     * here and goes no further: Triton crashes when such a stream is cancelled while it fails.
     */
    private static final AsciiString STATUS_OF_ERRORS = AsciiString.cached("triton_grpc_error");

    /** @throws OipException where the request cannot be served */
    static GrpcRequestHead of(RequestHead head) {
        if (!head.method().equals("POST")) {
            throw new OipException(ErrorCode.INTERNAL, "gRPC: method POST is expected, got " + head.method());
        }
        return new GrpcRequestHead(
                GrpcRoutes.method(head.uri()),
                coding(head.field(GrpcNames.ENCODING)),
                GrpcTimeout.deadline(head.field(GrpcNames.TIMEOUT), 0),
                form(head.field(STREAM_FORM)),
                "true".equals(head.field(STATUS_OF_ERRORS)));
    }

    private static @Nullable ContentCoding coding(@Nullable String encoding) {
        if (encoding == null || encoding.equals("identity")) {
            return null;
        }
        ContentCoding coding = ContentCoding.of(encoding);
        if (coding == null) {
            throw new OipException(
                    ErrorCode.UNIMPLEMENTED,
                    "header grpc-encoding: one of " + ContentCoding.ACCEPTED_BY_GRPC + " is expected, got '" + encoding
                            + "'");
        }
        return coding;
    }

    private static @Nullable StreamMessageForm form(@Nullable String asked) {
        if (asked == null) {
            return null;
        }
        return switch (asked) {
            case "triton" -> StreamMessageForm.TRITON;
            case "oip" -> StreamMessageForm.OIP;
            default ->
                throw OipException.invalid(
                        "header " + STREAM_FORM + ": triton or oip is expected, got '" + asked + "'");
        };
    }

    /** When a client gives up that asks now, on the scale of {@link System#nanoTime()}. */
    long deadline() {
        return timeout == Call.NO_DEADLINE ? timeout : System.nanoTime() + timeout;
    }
}

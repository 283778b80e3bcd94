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
 * The values of a gRPC request's headers.
 *
 * @param coding of the messages in both directions; null for identity
 * @param timeout of the call in nanoseconds; {@link Call#NO_DEADLINE} for none
 * @param form of a stream's responses; null for the configured one
 * @param statusOfErrors whether the first error ends a stream with a status
 */
record GrpcRequestHead(
        GrpcRoutes.GrpcMethod method,
        @Nullable ContentCoding coding,
        long timeout,
        @Nullable StreamMessageForm form,
        boolean statusOfErrors) {
    /** Overrides the configured stream form for one client. */
    private static final AsciiString STREAM_FORM = AsciiString.cached("isthmus-stream-form");

    /**
     * Requests that the first error ends a stream with a status, instead of being sent as a message in it. The gateway
     * implements it and does not forward it: Triton crashes if such a stream is cancelled while it fails.
     */
    private static final AsciiString STATUS_OF_ERRORS = AsciiString.cached("triton_grpc_error");

    /** @throws OipException if the request cannot be served */
    static GrpcRequestHead of(RequestHead head) {
        if (!head.method().equals("POST")) {
            throw OipException.misframed("gRPC: method POST is expected, got " + head.method());
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

    /** The form of a stream's responses; only inferences have an envelope. */
    StreamMessageForm form(StreamMessageForm configured) {
        if (!method.infersStream()) {
            return StreamMessageForm.OIP;
        }
        return form == null ? configured : form;
    }

    private static @Nullable StreamMessageForm form(@Nullable String value) {
        if (value == null) {
            return null;
        }
        return switch (value) {
            case "triton" -> StreamMessageForm.TRITON;
            case "oip" -> StreamMessageForm.OIP;
            default ->
                throw OipException.invalid(
                        "header " + STREAM_FORM + ": triton or oip is expected, got '" + value + "'");
        };
    }

    /** The deadline of a call that starts now, on the scale of {@link System#nanoTime()}. */
    long deadline() {
        return timeout == Call.NO_DEADLINE ? timeout : System.nanoTime() + timeout;
    }
}

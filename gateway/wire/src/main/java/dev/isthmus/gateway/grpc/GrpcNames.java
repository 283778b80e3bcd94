package dev.isthmus.gateway.grpc;

import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/** Header fields defined by gRPC over HTTP/2. */
public final class GrpcNames {
    /** The value of {@code content-type}. */
    public static final AsciiString CONTENT_TYPE = AsciiString.cached("application/grpc");

    public static final AsciiString STATUS = AsciiString.cached("grpc-status");
    public static final AsciiString MESSAGE = AsciiString.cached("grpc-message");
    public static final AsciiString TIMEOUT = AsciiString.cached("grpc-timeout");
    public static final AsciiString ENCODING = AsciiString.cached("grpc-encoding");
    public static final AsciiString ACCEPT_ENCODING = AsciiString.cached("grpc-accept-encoding");

    public static final String BINARY_SUFFIX = "-bin";

    private GrpcNames() {}

    /** Whether a {@code content-type} is gRPC's, with any message format. */
    public static boolean isGrpc(@Nullable CharSequence contentType) {
        if (contentType == null) {
            return false;
        }
        int length = CONTENT_TYPE.length();
        return AsciiString.of(contentType).startsWith(CONTENT_TYPE)
                && (contentType.length() == length || "+;".indexOf(contentType.charAt(length)) >= 0);
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks on the head of an HTTP/1.1 request. After a rejection the connection is closed. */
final class Http1Rules {
    private Http1Rules() {}

    static @Nullable OipException refusal(HttpRequest request) {
        if (request.decoderResult().isFailure()) {
            return malformed(request.decoderResult().cause());
        }
        OipException host = RequestTarget.refusal(request);
        if (host != null) {
            return host;
        }
        List<String> codings = Http1Head.all(request, HttpHeaderNames.TRANSFER_ENCODING);
        boolean plain = codings.isEmpty()
                || (codings.size() == 1
                        && codings.get(0).equalsIgnoreCase("chunked")
                        && request.protocolVersion().equals(HttpVersion.HTTP_1_1));
        if (!plain) {
            return OipException.invalid(
                    "header Transfer-Encoding: 'chunked' is expected, got '" + String.join(", ", codings) + "'");
        }
        String expect = request.headers().get(HttpHeaderNames.EXPECT);
        if (expect != null && !expect.equalsIgnoreCase("100-continue")) {
            return new OipException(
                    ErrorCode.EXPECTATION_FAILED, "header Expect: '100-continue' is expected, got '" + expect + "'");
        }
        return null;
    }

    /** The failure for a body that could not be decoded. */
    static OipException malformedBody(Throwable cause) {
        return cause instanceof OipException violation
                ? violation
                : OipException.invalid("request body: malformed chunked encoding");
    }

    /** The failure for an unexpected exception: heap exhaustion ends the process, direct memory is released by others. */
    static OipException failure(Throwable cause) {
        return cause instanceof OutOfMemoryError
                ? new OipException(ErrorCode.OVERLOADED, "out of memory for the request", cause)
                : new OipException(ErrorCode.INTERNAL, "internal error", cause);
    }

    private static OipException malformed(Throwable cause) {
        if (cause instanceof OipException violation) {
            return violation;
        }
        if (cause instanceof TooLongHttpLineException) {
            return lineTooLong();
        }
        if (cause instanceof TooLongHttpHeaderException) {
            return new OipException(
                    ErrorCode.HEADERS_TOO_LARGE,
                    "header fields: at most " + IngressSettings.MAX_HEADER_BYTES + " bytes are accepted");
        }
        return new OipException(ErrorCode.INVALID_ARGUMENT, "malformed HTTP request", cause);
    }

    static OipException lineTooLong() {
        return new OipException(
                ErrorCode.URI_TOO_LONG,
                "request line: at most " + IngressSettings.MAX_REQUEST_LINE + " bytes are accepted");
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import org.jspecify.annotations.Nullable;

/** Checks on the head of an HTTP/1.1 request that is well formed. After a rejection the connection is closed. */
final class Http1Rules {
    private Http1Rules() {}

    static @Nullable OipException refusal(Http1Request request) {
        OipException host = RequestTarget.refusal(
                request.target(), request.http10(), request.fields().all(HttpHeaderNames.HOST));
        if (host != null) {
            return host;
        }
        for (String expect : request.fields().all(HttpHeaderNames.EXPECT)) {
            if (!isContinue(expect)) {
                return new OipException(
                        ErrorCode.EXPECTATION_FAILED,
                        "header Expect: '100-continue' is expected, got '" + expect + "'");
            }
        }
        return null;
    }

    /** Whether the client of a valid request waits for an interim response before its body; HTTP/1.0 has none. */
    static boolean expectsContinue(Http1Request request) {
        return !request.http10() && request.fields().get(HttpHeaderNames.EXPECT) != null;
    }

    private static boolean isContinue(String expect) {
        return expect.equalsIgnoreCase("100-continue");
    }

    /** The failure for an unexpected exception: heap exhaustion ends the process, direct memory is released by others. */
    static OipException failure(Throwable cause) {
        return cause instanceof OutOfMemoryError
                ? new OipException(ErrorCode.OVERLOADED, "out of memory for the request", cause)
                : new OipException(ErrorCode.INTERNAL, "internal error", cause);
    }
}

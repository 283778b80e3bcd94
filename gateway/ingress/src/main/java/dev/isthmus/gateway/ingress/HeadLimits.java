package dev.isthmus.gateway.ingress;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** Limits on the head of a request, the same for all versions of HTTP. */
final class HeadLimits {
    /** Length of " HTTP/1.1" and the space after the method, so that a request has the same length over HTTP/2. */
    private static final int REST_OF_LINE = 10;

    private HeadLimits() {}

    /**
     * Returns why a request over HTTP/2 is rejected; null if it is not.
     *
     * @param tooLarge whether its head exceeded the limits of the decoder
     */
    static @Nullable OipException refusal(boolean tooLarge, Http2Head head) {
        if (head.method().length() + head.uri().length() + REST_OF_LINE > IngressSettings.MAX_REQUEST_LINE) {
            return lineTooLong();
        }
        return tooLarge ? tooLarge() : null;
    }

    static OipException lineTooLong() {
        return new OipException(
                ErrorCode.URI_TOO_LONG,
                "request line: at most " + IngressSettings.MAX_REQUEST_LINE + " bytes are accepted");
    }

    static OipException fieldsTooLarge() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE,
                "header fields: at most " + IngressSettings.MAX_HEADER_BYTES + " bytes are accepted");
    }

    /** For too many or too large fields; which of the two is not known. */
    private static OipException tooLarge() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE,
                "header fields: at most " + IngressSettings.MAX_HEADER_FIELDS + " fields and "
                        + IngressSettings.MAX_HEADER_BYTES + " bytes are accepted");
    }
}

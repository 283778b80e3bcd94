package dev.isthmus.gateway.ingress;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** The limits on the head of a request, the same over every version of HTTP. */
final class HeadLimits {
    /** " HTTP/1.1" and the space after the method, so that a request is as long over HTTP/2. */
    private static final int REST_OF_LINE = 10;

    private HeadLimits() {}

    /**
     * Why a request over HTTP/2 is refused; null where it is not.
     *
     * @param tooLarge whether not all of its head could be read
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
                "request line: at most " + IngressSettings.MAX_REQUEST_LINE + " bytes are taken");
    }

    static OipException tooManyFields() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE,
                "at most " + IngressSettings.MAX_HEADER_FIELDS + " header fields are taken");
    }

    static OipException fieldsTooLarge() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE,
                "header fields: at most " + IngressSettings.MAX_HEADER_BYTES + " bytes are taken");
    }

    /** Of fields that are too many or too large: only those before the limit are known. */
    private static OipException tooLarge() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE,
                "header fields: at most " + IngressSettings.MAX_HEADER_FIELDS + " of "
                        + IngressSettings.MAX_HEADER_BYTES + " bytes are taken");
    }
}

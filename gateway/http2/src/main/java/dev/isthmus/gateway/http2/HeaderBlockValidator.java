package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Determines whether decoded fields are a valid request, response or trailers (RFC 9113, 8.1 and 8.3). */
final class HeaderBlockValidator {
    static final HeaderBlock INVALID = new HeaderBlock(
            EmptyHttp2Headers.INSTANCE, HeaderBlock.MessageKind.NOTHING, 0, -1, "invalid header fields");

    private static final int NONE = -1;
    private static final int BAD = -2;

    private HeaderBlockValidator() {}

    /** @param headers the fields decoded before the limit was reached */
    static HeaderBlock tooLarge(Http2Headers headers) {
        return new HeaderBlock(headers, HeaderBlock.MessageKind.TOO_LARGE, 0, -1, "too many header fields");
    }

    /** @param maxFields limit, without pseudo-header fields */
    static HeaderBlock of(Http2Headers headers, int maxFields) {
        if (headers.size() > maxFields && headers.size() - pseudo(headers) > maxFields) {
            return tooLarge(headers);
        }
        long length = contentLength(headers);
        CharSequence status = headers.status();
        CharSequence method = headers.method();
        String lengthProblem = length == BAD ? "an invalid content-length" : null;
        if (status != null) {
            int code = number(status);
            String problem = code < 100 || code > 999 ? "an invalid :status" : lengthProblem;
            return new HeaderBlock(headers, HeaderBlock.MessageKind.RESPONSE, code, length, problem);
        }
        if (method != null) {
            String problem =
                    endsWithSpace(headers) ? "white space at the end of a value" : requestProblem(headers, method);
            return new HeaderBlock(
                    headers, HeaderBlock.MessageKind.REQUEST, 0, length, problem == null ? lengthProblem : problem);
        }
        boolean pseudo = headers.path() != null || headers.scheme() != null || headers.authority() != null;
        return pseudo ? INVALID : new HeaderBlock(headers, HeaderBlock.MessageKind.TRAILERS, 0, length, lengthProblem);
    }

    /**
     * Whether a value ends with white space (RFC 9113, 8.2.1); Netty refuses it only at the start. Not asked of responses:
     * texts of gRPC servers may end so.
     */
    private static boolean endsWithSpace(Http2Headers headers) {
        for (Map.Entry<CharSequence, CharSequence> field : headers) {
            CharSequence value = field.getValue();
            char last = value.isEmpty() ? 'x' : value.charAt(value.length() - 1);
            if (last == ' ' || last == '\t') {
                return true;
            }
        }
        return false;
    }

    private static int pseudo(Http2Headers headers) {
        int count = 0;
        for (Http2Headers.PseudoHeaderName name : Http2Headers.PseudoHeaderName.values()) {
            count += headers.contains(name.value()) ? 1 : 0;
        }
        return count;
    }

    private static @Nullable String requestProblem(Http2Headers headers, CharSequence method) {
        CharSequence path = headers.path();
        if (method.isEmpty()) {
            return "an empty :method";
        }
        if (method.toString().equals("CONNECT")) {
            return path == null && headers.scheme() == null ? null : "CONNECT with :path or :scheme";
        }
        if (path == null || path.isEmpty()) {
            return "a request without :path";
        }
        return headers.scheme() == null ? "a request without :scheme" : null;
    }

    private static long contentLength(Http2Headers headers) {
        CharSequence first = headers.get(HttpHeaderNames.CONTENT_LENGTH);
        if (first == null) {
            return NONE;
        }
        List<CharSequence> all = headers.getAll(HttpHeaderNames.CONTENT_LENGTH);
        return all.size() == 1 ? decimal(first) : BAD;
    }

    private static int number(CharSequence digits) {
        return digits.length() == 3 ? (int) decimal(digits) : BAD;
    }

    private static long decimal(CharSequence digits) {
        if (digits.isEmpty() || digits.length() > 18) {
            return BAD;
        }
        long value = 0;
        for (int i = 0; i < digits.length(); i++) {
            char c = digits.charAt(i);
            if (c < '0' || c > '9') {
                return BAD;
            }
            value = 10 * value + c - '0';
        }
        return value;
    }
}

package dev.isthmus.gateway.net;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import java.util.List;

/**
 * Enforces the grammar of HTTP/1.1 requests (RFC 9112) where Netty's decoder is more lenient. Scans the bytes ahead of
 * the decoder: bytes before a request, the starts of its lines, and the framing of a chunked body.
 */
final class RequestGrammar {
    private static final byte CR = '\r';
    private static final byte LF = '\n';
    private static final int MAX_EXTENSION = 256;
    private static final int MAX_SIZE_DIGITS = 16;

    /** Fields not allowed in trailers: framing, routing, authentication, and how to read the body (RFC 9110, 6.5.1). */
    private static final List<AsciiString> NO_TRAILERS = List.of(
            AsciiString.cached("content-length"),
            AsciiString.cached("transfer-encoding"),
            AsciiString.cached("trailer"),
            AsciiString.cached("host"),
            AsciiString.cached("connection"),
            AsciiString.cached("keep-alive"),
            AsciiString.cached("upgrade"),
            AsciiString.cached("te"),
            AsciiString.cached("expect"),
            AsciiString.cached("authorization"),
            AsciiString.cached("proxy-authorization"),
            AsciiString.cached("cookie"),
            AsciiString.cached("cache-control"),
            AsciiString.cached("max-forwards"),
            AsciiString.cached("range"),
            AsciiString.cached("content-encoding"),
            AsciiString.cached("content-type"),
            AsciiString.cached("content-range"),
            AsciiString.cached("inference-header-content-length"));

    private GrammarState state = GrammarState.START;

    /** Bytes scanned ahead of the decoder. */
    private int ahead;

    /** Remaining bytes of the chunk. */
    private long left;

    private enum GrammarState {
        /** Before a request: one empty line is allowed (RFC 9112, 2.2). */
        START,
        EMPTY_LINE,
        AFTER_EMPTY_LINE,
        REQUEST_LINE,
        FIELDS,
        CHUNK_SIZE,
        CHUNK,
        CHUNK_CR,
        CHUNK_LF,
        TRAILERS,
        /** No scan until the decoder has caught up, or to the end of a body that is not chunked. */
        NOTHING
    }

    /**
     * Scans the received bytes.
     *
     * @param in borrowed; the decoder's next byte is at its reader index
     * @throws OipException for a malformed request
     */
    void check(ByteBuf in) {
        int at = in.readerIndex() + ahead;
        int end = in.writerIndex();
        while (at < end && state != GrammarState.NOTHING) {
            int next = step(in, at, end);
            if (next < 0) {
                break;
            }
            at = next;
        }
        ahead = at - in.readerIndex();
    }

    /** The decoder has read this many bytes. */
    void decoded(int bytes) {
        ahead = Math.max(0, ahead - bytes);
    }

    /** The decoder has read a request's head. */
    void bodyBegins(boolean chunked) {
        state = chunked ? GrammarState.CHUNK_SIZE : GrammarState.NOTHING;
    }

    /** Whether the fields after a body are being read. */
    boolean trailers() {
        return state == GrammarState.TRAILERS;
    }

    /** The decoder has read a whole message. */
    void messageEnded() {
        state = GrammarState.START;
        ahead = 0;
    }

    /** The index after the scanned bytes; -1 if more bytes are needed. */
    private int step(ByteBuf in, int at, int end) {
        return switch (state) {
            case START, EMPTY_LINE, AFTER_EMPTY_LINE -> beginning(in.getByte(at), at);
            case REQUEST_LINE -> requestLine(in, at, end);
            case FIELDS, TRAILERS -> fields(in, at, end);
            case CHUNK_SIZE -> chunkSize(in, at, end);
            case CHUNK -> chunk(at, end);
            case CHUNK_CR -> chunkEnd(in, at, CR, GrammarState.CHUNK_LF);
            case CHUNK_LF -> chunkEnd(in, at, LF, GrammarState.CHUNK_SIZE);
            case NOTHING -> -1;
        };
    }

    private int beginning(byte first, int at) {
        if (state == GrammarState.EMPTY_LINE) {
            require(first == LF, "a line that ends in CR LF is expected before the request");
            state = GrammarState.AFTER_EMPTY_LINE;
            return at + 1;
        }
        if (state == GrammarState.START && first == CR) {
            state = GrammarState.EMPTY_LINE;
            return at + 1;
        }
        if (first <= ' ' || first == 0x7f) {
            throw malformedLine();
        }
        state = GrammarState.REQUEST_LINE;
        return at;
    }

    private int requestLine(ByteBuf in, int at, int end) {
        int lf = in.indexOf(at, end, LF);
        state = lf < 0 ? GrammarState.REQUEST_LINE : GrammarState.FIELDS;
        return lf < 0 ? -1 : lf + 1;
    }

    private int fields(ByteBuf in, int at, int end) {
        byte first = in.getByte(at);
        require(first != ' ' && first != '\t', "a header field in one line is expected, got one that is folded");
        int lf = in.indexOf(at, end, LF);
        if (lf < 0) {
            return -1;
        }
        if (lf == at + 1 && first == CR) {
            state = GrammarState.NOTHING;
        }
        return lf + 1;
    }

    private int chunkSize(ByteBuf in, int at, int end) {
        int lf = in.indexOf(at, end, LF);
        int lineEnd = lf < 0 ? end : lf;
        require(
                lineEnd - at <= MAX_SIZE_DIGITS + MAX_EXTENSION,
                "a chunk size in a line of at most " + (MAX_SIZE_DIGITS + MAX_EXTENSION) + " bytes is expected");
        if (lf < 0) {
            return -1;
        }
        require(lf > at && in.getByte(lf - 1) == CR, "a chunk size that ends in CR LF is expected");
        left = readSize(in, at, lf - 1);
        state = left == 0 ? GrammarState.TRAILERS : GrammarState.CHUNK;
        return lf + 1;
    }

    private static long readSize(ByteBuf in, int from, int end) {
        long size = 0;
        int at = from;
        while (at < end && in.getByte(at) != ';') {
            int digit = Character.digit(in.getByte(at), 16);
            require(digit >= 0 && at - from < MAX_SIZE_DIGITS, "a chunk size in hexadecimal digits is expected");
            size = size << 4 | digit;
            require(size <= Integer.MAX_VALUE, "a chunk of at most " + Integer.MAX_VALUE + " bytes is expected");
            at++;
        }
        require(at > from, "a chunk size in hexadecimal digits is expected");
        require(end - at <= MAX_EXTENSION, "a chunk extension of at most " + MAX_EXTENSION + " bytes is expected");
        for (; at < end; at++) {
            byte each = in.getByte(at);
            require(
                    (each >= ' ' || each == '\t') && each != 0x7f && each != '"',
                    "a chunk extension without quotes and control characters is expected");
        }
        return size;
    }

    private int chunk(int at, int end) {
        int skipped = (int) Math.min(left, end - at);
        left -= skipped;
        if (left == 0) {
            state = GrammarState.CHUNK_CR;
        }
        return at + skipped;
    }

    private int chunkEnd(ByteBuf in, int at, byte expected, GrammarState next) {
        require(in.getByte(at) == expected, "CR LF is expected after a chunk");
        state = next;
        return at + 1;
    }

    /** Requires a single space before a part of the request line (RFC 9112, 3). */
    static void requireOneSpace(byte[] line, int start) {
        boolean one = start > 1 && line[start - 1] == ' ' && line[start - 2] > ' ' && line[start - 2] != 0x7f;
        if (!one) {
            throw malformedLine();
        }
    }

    /** Requires visible US-ASCII characters, as a target must have (RFC 3986, 2). */
    static void requireVisible(byte[] line, int start, int length) {
        for (int i = start; i < start + length; i++) {
            if (line[i] <= ' ' || line[i] == 0x7f) {
                throw malformedLine();
            }
        }
    }

    /** Requires that a field is allowed in trailers. */
    static void requireTrailer(AsciiString name) {
        for (AsciiString each : NO_TRAILERS) {
            if (each.contentEqualsIgnoreCase(name)) {
                throw OipException.invalid("header field " + each + " is expected before the body, not after it");
            }
        }
    }

    static OipException tooManyFields(int most) {
        return new OipException(ErrorCode.HEADERS_TOO_LARGE, "at most " + most + " header fields are accepted");
    }

    static OipException malformedLine() {
        return OipException.invalid(
                "request line: a method, a target and HTTP/1.1, with a space between, are expected");
    }

    static OipException wrongVersion(String version) {
        boolean known = version.length() == 8
                && Character.isDigit(version.charAt(5))
                && version.charAt(6) == '.'
                && Character.isDigit(version.charAt(7));
        return known
                ? new OipException(
                        ErrorCode.HTTP_VERSION_NOT_SUPPORTED,
                        "request line: HTTP/1.1 or HTTP/1.0 is expected, got " + version)
                : malformedLine();
    }

    private static void require(boolean met, String message) {
        if (!met) {
            throw OipException.invalid(message);
        }
    }
}

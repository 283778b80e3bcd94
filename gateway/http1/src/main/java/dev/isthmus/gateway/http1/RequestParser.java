package dev.isthmus.gateway.http1;

import static java.util.Objects.requireNonNull;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads the requests of a client. */
public final class RequestParser extends Http1Parser {
    private static final String HTTP = "HTTP/";
    private static final String HTTP_10 = "HTTP/1.0";
    private static final String HTTP_11 = "HTTP/1.1";
    private static final String[] METHODS = {"POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE"};

    private EmptyLine emptyLine = EmptyLine.NONE;
    private String method = "";
    private String target = "";
    private boolean http10;
    private @Nullable Http1Request request;

    /** How much of the one empty line has arrived that is allowed before a request (RFC 9112, 2.2). */
    private enum EmptyLine {
        NONE,
        CARRIAGE_RETURN,
        COMPLETE
    }

    /** @param maxPart of a body that is read at once, in bytes */
    public RequestParser(HeadLimits limits, int maxPart) {
        super(limits, maxPart, false);
    }

    /** The head that was read last. */
    public Http1Request request() {
        return requireNonNull(request);
    }

    @Override
    boolean begin(ByteBuf in) {
        byte octet = in.getByte(in.readerIndex());
        if (emptyLine == EmptyLine.NONE && octet == OctetClasses.CR) {
            emptyLine = EmptyLine.CARRIAGE_RETURN;
            in.skipBytes(1);
            return false;
        }
        if (emptyLine == EmptyLine.CARRIAGE_RETURN) {
            if (octet != OctetClasses.LF) {
                throw OipException.invalid("a line that ends in CR LF is expected before the request");
            }
            emptyLine = EmptyLine.COMPLETE;
            in.skipBytes(1);
            return false;
        }
        if (octet <= ' ' || octet == 0x7f) {
            throw malformedLine();
        }
        emptyLine = EmptyLine.NONE;
        return true;
    }

    @Override
    boolean startLine(byte[] line, int from, int to) {
        int endOfMethod = OctetClasses.endOfToken(line, from, to);
        if (endOfMethod == from || endOfMethod == to || line[endOfMethod] != ' ') {
            throw malformedLine();
        }
        int targetAt = endOfMethod + 1;
        int endOfTarget = OctetClasses.endOfVisible(line, targetAt, to);
        if (endOfTarget == targetAt || endOfTarget == to || line[endOfTarget] != ' ') {
            throw malformedLine();
        }
        String version = version(line, endOfTarget + 1, to);
        if (!version.contains(HTTP)) {
            return false;
        }
        http10 = version.equals(HTTP_10);
        if (!http10 && !version.equals(HTTP_11)) {
            throw wrongVersion(version);
        }
        method = method(line, from, endOfMethod);
        target = text(line, targetAt, endOfTarget);
        return true;
    }

    @Override
    void headEnded(FieldSection fields) {
        boolean chunked = isChunked(fields, http10);
        long length = contentLength(fields);
        request = new Http1Request(method, target, http10, fields, length);
        body(chunked, length);
    }

    private static String method(byte[] line, int from, int to) {
        for (String each : METHODS) {
            if (matches(line, from, to, each)) {
                return each;
            }
        }
        return text(line, from, to);
    }

    private static String version(byte[] line, int from, int to) {
        return matches(line, from, to, HTTP_11) ? HTTP_11 : text(line, from, to);
    }

    private static boolean matches(byte[] line, int from, int to, String text) {
        if (to - from != text.length()) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if (line[from + i] != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private static String text(byte[] line, int from, int to) {
        return new String(line, from, to - from, StandardCharsets.ISO_8859_1);
    }

    private static OipException malformedLine() {
        return OipException.invalid(
                "request line: a method, a target and HTTP/1.1, with a space between, are expected");
    }

    private static OipException wrongVersion(String version) {
        boolean known = version.matches("HTTP/[0-9]\\.[0-9]");
        return known
                ? new OipException(
                        ErrorCode.HTTP_VERSION_NOT_SUPPORTED,
                        "request line: HTTP/1.1 or HTTP/1.0 is expected, got " + version)
                : malformedLine();
    }
}

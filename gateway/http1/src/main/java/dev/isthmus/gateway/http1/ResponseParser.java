package dev.isthmus.gateway.http1;

import static java.util.Objects.requireNonNull;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Reads the responses of a server to requests other than HEAD and CONNECT. */
public final class ResponseParser extends Http1Parser {
    private static final byte[] HTTP_1 = {'H', 'T', 'T', 'P', '/', '1', '.'};
    /** Version, space, three digits. */
    private static final int SHORTEST = HTTP_1.length + 5;

    private static final int NO_CONTENT = 204;
    private static final int NOT_MODIFIED = 304;

    private int status;
    private boolean http10;
    private @Nullable Http1Response response;

    /** @param maxPart of a body that is read at once, in bytes */
    public ResponseParser(HeadLimits limits, int maxPart) {
        super(limits, maxPart, true);
    }

    /** The head that was read last; its fields are valid until the next one begins. */
    public Http1Response response() {
        return requireNonNull(response);
    }

    @Override
    boolean begin(ByteBuf in) {
        if (in.getByte(in.readerIndex()) != HTTP_1[0]) {
            throw malformedLine();
        }
        return true;
    }

    /** Servers may leave out the space before an empty reason. */
    @Override
    boolean startLine(byte[] line, int from, int to) {
        if (to - from < SHORTEST) {
            throw malformedLine();
        }
        for (int i = 0; i < HTTP_1.length; i++) {
            if (line[from + i] != HTTP_1[i]) {
                throw malformedLine();
            }
        }
        int at = from + HTTP_1.length;
        http10 = line[at] == '0';
        if ((!http10 && line[at] != '1') || line[at + 1] != ' ') {
            throw malformedLine();
        }
        status = 0;
        for (int i = at + 2; i < from + SHORTEST; i++) {
            int digit = line[i] - '0';
            if (digit < 0 || digit > 9) {
                throw malformedLine();
            }
            status = status * 10 + digit;
        }
        boolean reason = to > from + SHORTEST;
        if (status < 100
                || (reason && line[from + SHORTEST] != ' ')
                || !OctetClasses.isFieldValue(line, from + SHORTEST, to)) {
            throw malformedLine();
        }
        return true;
    }

    @Override
    void headEnded(FieldSection fields) {
        boolean chunked = isChunked(fields, http10);
        long length = contentLength(fields);
        response = new Http1Response(status, http10, fields, length);
        if (status < 200 || status == NO_CONTENT || status == NOT_MODIFIED) {
            bodiless();
        } else if (chunked || length >= 0) {
            body(chunked, length);
        } else {
            bodyToEnd();
        }
    }

    private static OipException malformedLine() {
        return OipException.invalid("status line: HTTP/1.1 and a status of three digits are expected");
    }
}

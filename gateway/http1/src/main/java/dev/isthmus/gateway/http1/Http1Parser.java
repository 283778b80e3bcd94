package dev.isthmus.gateway.http1;

import static java.util.Objects.requireNonNull;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the messages of a connection one after the other, each time as far as asked: what was not asked for stays in
 * the buffer. After a failure nothing more is read. Belongs to one connection.
 */
public abstract sealed class Http1Parser permits RequestParser, ResponseParser {
    /** Fields not allowed in trailers: framing, routing, authentication, and how to read the body (RFC 9110, 6.5.1). */
    private static final Set<String> NO_TRAILERS = Set.of(("content-length transfer-encoding trailer host connection"
                    + " keep-alive upgrade te expect authorization proxy-authorization cookie cache-control"
                    + " max-forwards range content-encoding content-type content-range"
                    + " inference-header-content-length")
            .split(" "));

    private static final String CONTENT_LENGTH = "content-length";
    private static final String TRANSFER_ENCODING = "transfer-encoding";
    private static final String CHUNKED = "chunked";
    /** The length of a message without a Content-Length. */
    static final long NONE = -1;

    private final FieldSectionReader section;
    private final ChunkSize chunk = new ChunkSize();
    private final int maxPart;

    private ParserState state = ParserState.START;
    /** Bytes that follow of the body, or of the chunk. */
    private long remaining;
    /** The memory of the head, while the body is read. */
    private int head;

    private boolean foreign;
    private boolean ended;
    private @Nullable ByteBuf content;

    private enum ParserState {
        /** Before a message, of which nothing has arrived. */
        START,
        HEAD,
        /** A body with a length. */
        BODY,
        /** A body that ends with the connection. */
        REST,
        CHUNK_SIZE,
        CHUNK,
        CHUNK_CR,
        CHUNK_LF,
        TRAILERS,
        FAILED
    }

    /** What was read. */
    public enum ParserEvent {
        /** Nothing: more bytes are needed. */
        MORE,
        /** A head. */
        HEAD,
        /** A part of the body, to be taken as {@link #content()}. */
        CONTENT,
        /** The end of a body whose parts had no end of their own. */
        END,
        /** The peer does not speak HTTP. */
        FOREIGN
    }

    /** @param reusesHeads whether a head is valid only until the next one begins */
    Http1Parser(HeadLimits limits, int maxPart, boolean reusesHeads) {
        this.section = new FieldSectionReader(limits, this, reusesHeads);
        this.maxPart = maxPart;
    }

    /**
     * Reads the first line of a head.
     *
     * @return false if the peer does not speak HTTP
     */
    abstract boolean startLine(byte[] line, int from, int to);

    /** Reads the first line of a head as {@link #startLine}, and keeps what it returns. */
    final boolean readStartLine(byte[] line, int from, int to) {
        foreign = !startLine(line, from, to);
        return !foreign;
    }

    /** Reads what may precede a message; returns whether the message has begun. */
    abstract boolean begin(ByteBuf in);

    /** A head is complete. Keeps it, and calls one of the methods below, which say what follows. */
    abstract void headEnded(FieldSection fields);

    /**
     * Reads on.
     *
     * @param in borrowed
     * @throws OipException if the message is malformed
     */
    public final ParserEvent next(ByteBuf in) {
        ended = false;
        try {
            return read(in);
        } catch (OipException malformed) {
            fail();
            throw malformed;
        }
    }

    private ParserEvent read(ByteBuf in) {
        while (in.isReadable()) {
            switch (state) {
                case START -> {
                    if (begin(in)) {
                        state = ParserState.HEAD;
                    }
                }
                case HEAD -> {
                    if (section.read(in)) {
                        return head();
                    }
                }
                case BODY, CHUNK, REST -> {
                    return part(in);
                }
                case CHUNK_SIZE -> chunkSize(in);
                case CHUNK_CR -> chunkEnd(in.readByte(), OctetClasses.CR, ParserState.CHUNK_LF);
                case CHUNK_LF -> chunkEnd(in.readByte(), OctetClasses.LF, ParserState.CHUNK_SIZE);
                case TRAILERS -> {
                    if (section.read(in)) {
                        checkTrailers(section.take());
                        end();
                        return ParserEvent.END;
                    }
                }
                case FAILED -> in.skipBytes(in.readableBytes());
            }
        }
        return ParserEvent.MORE;
    }

    private ParserEvent head() {
        head = section.held();
        FieldSection fields = section.take();
        if (foreign) {
            fail();
            return ParserEvent.FOREIGN;
        }
        headEnded(fields);
        return ParserEvent.HEAD;
    }

    /** No body follows. */
    final void bodiless() {
        end();
    }

    /** A body follows, in chunks or of this length. */
    final void body(boolean chunked, long length) {
        if (chunked) {
            state = ParserState.CHUNK_SIZE;
            chunk.begin();
        } else if (length > 0) {
            state = ParserState.BODY;
            remaining = length;
        } else {
            end();
        }
    }

    /** What follows until the end of the connection is the body. */
    final void bodyToEnd() {
        state = ParserState.REST;
        remaining = Long.MAX_VALUE;
    }

    private void end() {
        state = ParserState.START;
        head = 0;
        ended = true;
    }

    private void fail() {
        state = ParserState.FAILED;
        section.take();
        head = 0;
    }

    private ParserEvent part(ByteBuf in) {
        int length = (int) Math.min(remaining, Math.min(in.readableBytes(), maxPart));
        content = in.readRetainedSlice(length);
        if (state != ParserState.REST) {
            remaining -= length;
        }
        if (remaining == 0 && state == ParserState.CHUNK) {
            state = ParserState.CHUNK_CR;
        } else if (remaining == 0) {
            end();
        }
        return ParserEvent.CONTENT;
    }

    private void chunkSize(ByteBuf in) {
        if (!chunk.read(in)) {
            return;
        }
        remaining = chunk.size();
        if (remaining > 0) {
            state = ParserState.CHUNK;
        } else {
            state = ParserState.TRAILERS;
            section.expectFields();
        }
    }

    private void chunkEnd(byte octet, byte expected, ParserState next) {
        if (octet != expected) {
            throw OipException.invalid("CR LF is expected after a chunk");
        }
        state = next;
        chunk.begin();
    }

    private static void checkTrailers(FieldSection trailers) {
        for (int i = 0; i < trailers.size(); i++) {
            if (NO_TRAILERS.contains(trailers.name(i))) {
                throw OipException.invalid(
                        "header field " + trailers.name(i) + " is expected before the body, not after it");
            }
        }
    }

    /** The part of the body that was read last; the caller becomes its owner. */
    public final ByteBuf content() {
        ByteBuf part = requireNonNull(content);
        content = null;
        return part;
    }

    /** Whether a message has ended with what was read last. */
    public final boolean ended() {
        return ended;
    }

    /** Whether a message has begun and has not ended. */
    public final boolean begun() {
        return state != ParserState.START && state != ParserState.FAILED;
    }

    /** Whether the message ends with the connection. */
    public final boolean endsWithConnection() {
        return state == ParserState.REST;
    }

    /** The memory that the current message takes, in bytes: its head until the end of its body, and its trailers. */
    public final long held() {
        return (long) head + section.held();
    }

    /**
     * Whether the body is in chunks. Only one coding, {@code chunked}, is accepted, and not together with a length
     * (RFC 9112, 6.1 and 6.3).
     */
    static boolean isChunked(FieldSection fields, boolean http10) {
        if (!fields.contains(TRANSFER_ENCODING)) {
            return false;
        }
        List<String> codings = fields.all(TRANSFER_ENCODING);
        if (fields.contains(CONTENT_LENGTH)) {
            throw OipException.invalid("one of Transfer-Encoding and Content-Length is expected, got both");
        }
        if (codings.size() > 1 || !codings.getFirst().equalsIgnoreCase(CHUNKED)) {
            throw OipException.invalid("header Transfer-Encoding: '" + CHUNKED + "' is expected, got '"
                    + String.join(", ", codings) + "'");
        }
        if (http10) {
            throw OipException.invalid("header Transfer-Encoding: none is expected with HTTP/1.0");
        }
        return true;
    }

    /** The announced length; {@link #NONE} if there is none. */
    static long contentLength(FieldSection fields) {
        int field = fields.find(CONTENT_LENGTH, 0);
        if (field < 0) {
            return NONE;
        }
        long length = fields.number(field);
        if (length < 0 || fields.find(CONTENT_LENGTH, field + 1) >= 0) {
            throw OipException.invalid("header Content-Length: one number of bytes is expected, got '"
                    + String.join(", ", fields.all(CONTENT_LENGTH)) + "'");
        }
        return length;
    }

    /** Reads the line before a chunk: its size, and extensions, which are ignored (RFC 9112, 7.1). */
    private static final class ChunkSize {
        private static final int MAX_DIGITS = 16;
        /** Of the extensions of a chunk, in bytes. */
        private static final int MAX_EXTENSION = 256;

        private long size;
        private int digits;
        private int extension;
        private boolean carriageReturn;

        /** The size; to be called when the line is complete. */
        long size() {
            return size;
        }

        /** Another line begins. */
        void begin() {
            size = 0;
            digits = 0;
            extension = 0;
            carriageReturn = false;
        }

        /**
         * Reads on.
         *
         * @return whether the line is complete
         * @throws OipException if it is malformed
         */
        boolean read(ByteBuf in) {
            while (in.isReadable()) {
                byte octet = in.readByte();
                if (carriageReturn) {
                    require(octet == OctetClasses.LF, "a chunk size that ends in CR LF is expected");
                    return true;
                }
                if (octet == OctetClasses.CR) {
                    require(digits > 0, "a chunk size in hexadecimal digits is expected");
                    carriageReturn = true;
                } else if (extension > 0 || octet == ';') {
                    extension(octet);
                } else {
                    digit(OctetClasses.hexadecimal(octet));
                }
            }
            return false;
        }

        private void digit(int digit) {
            digits++;
            require(digit >= 0 && digits <= MAX_DIGITS, "a chunk size in hexadecimal digits is expected");
            size = size << 4 | digit;
            require(size <= Integer.MAX_VALUE, "a chunk of at most " + Integer.MAX_VALUE + " bytes is expected");
        }

        /** Quotes could hide what another server takes for the end of the line. */
        private void extension(byte octet) {
            require(digits > 0, "a chunk size in hexadecimal digits is expected");
            extension++;
            require(extension <= MAX_EXTENSION, "a chunk extension of at most " + MAX_EXTENSION + " bytes is expected");
            require(
                    (octet >= ' ' || octet == '\t') && octet != 0x7f && octet != '"',
                    "a chunk extension without quotes and control characters is expected");
        }

        private static void require(boolean met, String message) {
            if (!met) {
                throw OipException.invalid(message);
            }
        }
    }
}

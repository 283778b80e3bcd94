package dev.isthmus.gateway.http1;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Writes the head of a message, and a small body behind it. What could begin another field, or another message, is
 * never written: a name that is not a token, a value with control characters. Each thread has one: a head is written from
 * its beginning to its end before the next one begins.
 */
public final class HeadWriter {
    private static final byte[] END = {OctetClasses.CR, OctetClasses.LF};
    private static final int CAPACITY = 256;
    /** Larger bodies are not copied, in bytes. */
    private static final int MAX_COPIED = 4 * 1024;

    private static final ThreadLocal<HeadWriter> WRITERS = ThreadLocal.withInitial(HeadWriter::new);

    private byte[] bytes = new byte[CAPACITY];
    private int length;

    private HeadWriter() {}

    /** A head that begins with this line, which is written as it is, with its end. */
    public static HeadWriter of(byte[] startLine) {
        HeadWriter head = begin();
        head.append(startLine);
        return head;
    }

    private static HeadWriter begin() {
        HeadWriter head = WRITERS.get();
        head.length = 0;
        return head;
    }

    public static HeadWriter request(String method, String target) {
        HeadWriter head = begin();
        head.append(method);
        head.append(" ");
        for (int i = 0; i < target.length(); i++) {
            if (target.charAt(i) <= ' ' || target.charAt(i) >= 0x7f) {
                throw new IllegalArgumentException("a target of visible characters is expected, got '" + target + "'");
            }
        }
        head.append(target);
        head.append(" HTTP/1.1\r\n");
        return head;
    }

    /**
     * Adds a field.
     *
     * @throws IllegalArgumentException if the name or the value cannot be sent
     */
    public HeadWriter field(String name, String value) {
        int at = name(name);
        append(value);
        return end(name, at);
    }

    /** As {@link #field(String, String)}. */
    public HeadWriter field(String name, AsciiString value) {
        int at = name(name);
        append(value.array(), value.arrayOffset(), value.length());
        return end(name, at);
    }

    /** Begins a field; returns the index of its value. */
    private int name(String name) {
        int from = length;
        append(name);
        if (name.isEmpty() || OctetClasses.endOfToken(bytes, from, length) != length) {
            throw new IllegalArgumentException("the name of a header field is expected, got '" + name + "'");
        }
        append(": ");
        return length;
    }

    private HeadWriter end(String name, int at) {
        if (!OctetClasses.isFieldValue(bytes, at, length)) {
            throw new IllegalArgumentException(
                    "header field " + name + ": a value without control characters is expected");
        }
        append("\r\n");
        return this;
    }

    /** Adds fields that were written before. */
    public HeadWriter fields(byte[] written) {
        append(written);
        return this;
    }

    /** What was written so far, to be written again. */
    public byte[] fields() {
        return Arrays.copyOf(bytes, length);
    }

    /** Adds the length of the body. */
    public HeadWriter contentLength(long bytesOfBody) {
        append("content-length: ");
        append(bytesOfBody);
        append("\r\n");
        return this;
    }

    /** Says that the body is in chunks. */
    public HeadWriter chunked() {
        append("transfer-encoding: chunked\r\n");
        return this;
    }

    /** Says that the connection carries no other message. */
    public HeadWriter close() {
        append("connection: close\r\n");
        return this;
    }

    /** Says to a client of HTTP/1.0 that the connection may carry another message. */
    public HeadWriter keepAlive() {
        append("connection: keep-alive\r\n");
        return this;
    }

    /** Whether a body of this length is to be copied behind the head. */
    public static boolean copies(int bytesOfBody) {
        return bytesOfBody <= MAX_COPIED;
    }

    /** A copy of the head on the heap, which need not be released. */
    public ByteBuf end() {
        append(END);
        return Unpooled.copiedBuffer(bytes, 0, length);
    }

    /** A copy of the head. */
    public ByteBuf end(ByteBufAllocator allocator) {
        return end(allocator, Unpooled.EMPTY_BUFFER);
    }

    /**
     * A copy of the head with the body.
     *
     * @param body borrowed
     */
    public ByteBuf end(ByteBufAllocator allocator, ByteBuf body) {
        append(END);
        int more = body.readableBytes();
        ensure(more);
        body.getBytes(body.readerIndex(), bytes, length, more);
        length += more;
        return allocator.directBuffer(length).writeBytes(bytes, 0, length);
    }

    private void append(byte[] text) {
        append(text, 0, text.length);
    }

    private void append(byte[] text, int from, int count) {
        ensure(count);
        System.arraycopy(text, from, bytes, length, count);
        length += count;
    }

    /** Appends characters of ISO 8859-1; others become question marks. */
    private void append(String text) {
        ensure(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            bytes[length + i] = (byte) (c > 0xff ? '?' : c);
        }
        length += text.length();
    }

    private void append(long number) {
        if (number >= 10) {
            append(number / 10);
        }
        ensure(1);
        bytes[length++] = (byte) ('0' + number % 10);
    }

    private void ensure(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }

    /** Writes the chunks of a body. */
    public static final class ChunkWriter {
        /** Larger parts are not copied, in bytes. */
        private static final int MAX_COPIED = 1024;

        private static final int AROUND = 12;
        private static final byte[] END_OF_CHUNK = {OctetClasses.CR, OctetClasses.LF};
        private static final ByteBuf CR_LF = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(END_OF_CHUNK));
        private static final ByteBuf LAST_CHUNK =
                Unpooled.unreleasableBuffer(Unpooled.copiedBuffer("0\r\n\r\n", StandardCharsets.US_ASCII));

        private ChunkWriter() {}

        /**
         * Writes a part of the body as a chunk; an empty one, which would end the body, is not written.
         *
         * @param part taken
         * @param to receives one or more buffers in order
         */
        public static void chunk(ByteBufAllocator allocator, ByteBuf part, Consumer<ByteBuf> to) {
            int length = part.readableBytes();
            boolean copied = length <= MAX_COPIED;
            try {
                if (length > 0) {
                    ByteBuf first = allocator.directBuffer(copied ? length + AROUND : AROUND);
                    first.writeCharSequence(Integer.toHexString(length), StandardCharsets.US_ASCII);
                    first.writeBytes(END);
                    to.accept(copied ? first.writeBytes(part).writeBytes(END) : first);
                }
                if (!copied) {
                    to.accept(part.retain());
                    to.accept(CR_LF.duplicate());
                }
            } finally {
                part.release();
            }
        }

        /** The end of the body. */
        public static ByteBuf last() {
            return LAST_CHUNK.duplicate();
        }
    }
}

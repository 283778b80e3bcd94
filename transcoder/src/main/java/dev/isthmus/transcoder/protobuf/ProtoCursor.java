package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads protobuf fields out of a part of a buffer, without moving the buffer's indices (protobuf documentation, Encoding).
 * Nested messages are read by a cursor of their own over their bytes: nothing recurses deeper than the message types do.
 */
final class ProtoCursor {
    static final int VARINT = 0;
    static final int FIXED64 = 1;
    static final int BYTES = 2;
    static final int FIXED32 = 5;

    private final ByteBuf buffer;
    private final ErrorCode code;
    private final int end;
    private int at;
    private int wireType;

    ProtoCursor(ByteBuf buffer, int start, int length, ErrorCode code) {
        this.buffer = buffer;
        this.at = start;
        this.end = start + length;
        this.code = code;
    }

    static ProtoCursor of(ByteBuf message, ErrorCode code) {
        return new ProtoCursor(message, message.readerIndex(), message.readableBytes(), code);
    }

    boolean more() {
        return at < end;
    }

    /** The number of the next field; its value must then be read or skipped. */
    int field() {
        long tag = varint();
        wireType = (int) (tag & 7);
        int number = (int) (tag >>> 3);
        if (tag >>> 32 != 0 || number == 0) {
            throw malformed("a field has the tag " + Long.toUnsignedString(tag));
        }
        return number;
    }

    int wireType() {
        return wireType;
    }

    /** That the field just read has this wire type. */
    ProtoCursor expect(int type) {
        if (wireType != type) {
            throw malformed("wire type " + type + " is expected, got " + wireType);
        }
        return this;
    }

    long varint() {
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            byte b = buffer.getByte(advance(1));
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw malformed("a varint has more than ten bytes");
    }

    long fixed64() {
        return buffer.getLongLE(advance(Long.BYTES));
    }

    int fixed32() {
        return buffer.getIntLE(advance(Integer.BYTES));
    }

    /** A nested message or a packed list. */
    ProtoCursor nested() {
        int length = length();
        return new ProtoCursor(buffer, advance(length), length, code);
    }

    /** A view of the bytes; the reference is the caller's. */
    ByteBuf retainedBytes() {
        int length = length();
        return buffer.retainedSlice(advance(length), length);
    }

    String string() {
        int length = length();
        if (length == 0) {
            return "";
        }
        byte[] bytes = new byte[length];
        buffer.getBytes(advance(length), bytes);
        return ascii(bytes) ? new String(bytes, StandardCharsets.ISO_8859_1) : utf8(bytes);
    }

    private static boolean ascii(byte[] bytes) {
        int all = 0;
        for (byte b : bytes) {
            all |= b;
        }
        return all >= 0;
    }

    private String utf8(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new OipException(code, "malformed protobuf message: a string is not UTF-8", e);
        }
    }

    /** Appends the next bytes to another buffer. */
    void copy(int length, ByteBuf to) {
        to.writeBytes(buffer, advance(length), length);
    }

    /** Bytes left in this part. */
    int remaining() {
        return end - at;
    }

    /** Steps over bytes that are read elsewhere. */
    int advance(int bytes) {
        if (bytes < 0 || bytes > end - at) {
            throw malformed("it ends within a field");
        }
        int start = at;
        at += bytes;
        return start;
    }

    int length() {
        expect(BYTES);
        long length = varint();
        if (length < 0 || length > end - at) {
            throw malformed("a field of " + Long.toUnsignedString(length) + " bytes has " + (end - at) + " left");
        }
        return (int) length;
    }

    void skip() {
        switch (wireType) {
            case VARINT -> varint();
            case FIXED64 -> advance(Long.BYTES);
            case BYTES -> advance(length());
            case FIXED32 -> advance(Integer.BYTES);
            default -> throw malformed("wire type " + wireType + " is not taken");
        }
    }

    OipException malformed(String why) {
        return new OipException(code, "malformed protobuf message: " + why);
    }
}

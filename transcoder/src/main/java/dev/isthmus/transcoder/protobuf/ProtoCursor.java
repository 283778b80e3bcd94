package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads protobuf fields from a range of a buffer, without moving the buffer's indices (protobuf documentation,
 * Encoding). If parsers disagree on what is malformed (mostly varints that are too long), it accepts only what all of
 * them accept. Nested messages are read by their own cursor.
 */
final class ProtoCursor {
    static final int VARINT = 0;
    static final int FIXED64 = 1;
    static final int BYTES = 2;
    static final int FIXED32 = 5;

    private static final int GROUP = 3;
    private static final int END_GROUP = 4;

    /** The maximum nesting of messages and groups, which is the limit of all parsers. */
    private static final int MAX_DEPTH = 100;

    /** The maximum number of fields in a message, nested ones included, that are skipped as unexpected. */
    static final int MAX_UNEXPECTED = 1 << 14;

    /** The highest value of the fifth byte of a 32-bit varint, and of the tenth byte of a 64-bit one. */
    private static final int LAST_OF_32_BITS = 0x0f;

    private static final int LAST_OF_64_BITS = 1;

    private final ByteBuf buffer;
    private final ErrorCode code;
    private final int end;
    /** The number of unexpected fields so far. */
    private int unexpected;

    private int depth;
    private int at;
    private int tag;

    private ProtoCursor(ByteBuf buffer, int start, int end, int depth, ErrorCode code, int unexpected) {
        this.unexpected = unexpected;
        this.buffer = buffer;
        this.at = start;
        this.end = end;
        this.depth = depth;
        this.code = code;
    }

    static ProtoCursor of(ByteBuf message, ErrorCode code) {
        return new ProtoCursor(message, message.readerIndex(), message.writerIndex(), 0, code, 0);
    }

    boolean more() {
        return at < end;
    }

    static int field(int tag) {
        return tag >>> 3;
    }

    private static int wireType(int tag) {
        return tag & 7;
    }

    /**
     * The tag of the next field, {@code number << 3 | wire type}; its value must be read or skipped. A field with a
     * known number and another wire type is an unknown field.
     */
    int tag() {
        tag = varint32();
        if (field(tag) == 0) {
            throw malformed("a field has the number 0");
        }
        return tag;
    }

    /** Reads a tag or a length, which no parser reads beyond its fifth byte. */
    private int varint32() {
        int value = 0;
        for (int shift = 0; shift < Integer.SIZE; shift += 7) {
            byte b = buffer.getByte(advance(1));
            value |= (b & 0x7f) << shift;
            if (b >= 0) {
                if (shift == 28 && b > LAST_OF_32_BITS) {
                    break;
                }
                return value;
            }
        }
        throw malformed("the varint of a tag or length has more than 32 bits");
    }

    long varint() {
        long value = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            byte b = buffer.getByte(advance(1));
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                if (shift == 63 && b > LAST_OF_64_BITS) {
                    break;
                }
                return value;
            }
        }
        throw malformed("a varint has more than 64 bits");
    }

    long fixed64() {
        return buffer.getLongLE(advance(Long.BYTES));
    }

    int fixed32() {
        return buffer.getIntLE(advance(Integer.BYTES));
    }

    /** The nested message was read: its unexpected fields are those of this one, too. */
    void read(ProtoCursor nested) {
        unexpected = nested.unexpected;
    }

    /** A nested message or a packed list. */
    ProtoCursor nested() {
        int length = length();
        int start = advance(length);
        return new ProtoCursor(buffer, start, at, depth + 1, code, unexpected);
    }

    /** A cursor over the same range, starting at a field's position. */
    ProtoCursor from(int position) {
        return new ProtoCursor(buffer, position, end, depth, code, unexpected);
    }

    /** The current index in the buffer. */
    int position() {
        return at;
    }

    /** A retained slice of a length-delimited field; owned by the caller. */
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

    /** Copies the next {@code length} bytes to another buffer. */
    void copy(int length, ByteBuf to) {
        to.writeBytes(buffer, advance(length), length);
    }

    /** The bytes left in this range. */
    int remaining() {
        return end - at;
    }

    /** Skips bytes; returns the index of the first. */
    int advance(int bytes) {
        if (bytes < 0 || bytes > end - at) {
            throw malformed("it ends within a field");
        }
        int start = at;
        at += bytes;
        return start;
    }

    int length() {
        int length = varint32();
        if (length < 0 || length > end - at) {
            throw malformed("a field of " + Integer.toUnsignedString(length) + " bytes has " + (end - at) + " left");
        }
        return length;
    }

    /** Skips the value of the field whose tag was just read. */
    void skip() {
        switch (wireType(tag)) {
            case VARINT -> varint();
            case FIXED64 -> advance(Long.BYTES);
            case BYTES -> advance(length());
            case GROUP -> skipGroup(field(tag));
            case END_GROUP -> throw malformed("group " + field(tag) + " ends without having begun");
            case FIXED32 -> advance(Integer.BYTES);
            default -> throw malformed("wire type " + wireType(tag) + " is unknown");
        }
    }

    /** Skips an unknown field, and {@linkplain #unexpected() counts} it. */
    void skipUnexpected() {
        unexpected();
        skip();
    }

    /**
     * Counts a field of which messages have few: an unknown one, or one whose value is replaced by the next.
     *
     * @throws OipException if there are more than {@value #MAX_UNEXPECTED} in the message: they would occupy the event
     *     loop
     */
    void unexpected() {
        unexpected++;
        if (unexpected > MAX_UNEXPECTED) {
            throw new OipException(
                    code, "protobuf message: at most " + MAX_UNEXPECTED + " unknown or repeated fields are accepted");
        }
    }

    /** Counts the field as unexpected if there are more in its message than a valid one has. */
    void expect(int most, int fields) {
        if (fields > most) {
            unexpected();
        }
    }

    private void skipGroup(int field) {
        if (++depth > MAX_DEPTH) {
            throw malformed("messages and groups are nested more than " + MAX_DEPTH + " deep");
        }
        while (tag() != (field << 3 | END_GROUP)) {
            skipUnexpected();
        }
        depth--;
    }

    OipException malformed(String why) {
        return new OipException(code, "malformed protobuf message: " + why);
    }
}

package dev.isthmus.transcoder.json;

import dev.isthmus.oip.DataType;
import dev.isthmus.transcoder.number.NumberText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/** Writes JSON into its own buffer. The caller follows the grammar; commas are inserted automatically. */
public final class JsonWriter {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final ByteBufAllocator allocator;
    private ByteBuf out;
    private boolean comma;

    /** A writer that allocates its buffer from this allocator. */
    public JsonWriter(ByteBufAllocator allocator) {
        this.allocator = allocator;
        this.out = allocator.buffer(1024);
    }

    /** The buffer, for writing tensor elements directly. */
    public ByteBuf out() {
        return out;
    }

    /** Opens an array or object. */
    public JsonWriter open(char bracket) {
        item();
        out.writeByte(bracket);
        comma = false;
        return this;
    }

    /** Closes an array or object. */
    public JsonWriter close(char bracket) {
        out.writeByte(bracket);
        comma = true;
        return this;
    }

    /** Writes a member's name; its value must be written next. */
    public JsonWriter key(String name) {
        text(name);
        out.writeByte(':');
        comma = false;
        return this;
    }

    /** Writes a value given as ASCII JSON. */
    public JsonWriter raw(String json) {
        item();
        ByteBufUtil.writeAscii(out, json);
        return this;
    }

    /** Writes a string, escaped as necessary. */
    public JsonWriter text(String value) {
        if (isPlain(value)) {
            item();
            out.writeByte('"');
            ByteBufUtil.writeAscii(out, value);
            out.writeByte('"');
        } else {
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            utf8(Unpooled.wrappedBuffer(utf8), 0, utf8.length);
        }
        return this;
    }

    /** Whether it is written without escapes, one byte per character. */
    public static boolean isPlain(String value) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' || c > '~' || c == '"' || c == '\\') {
                return false;
            }
        }
        return true;
    }

    /**
     * Writes raw tensor elements from {@code at} to {@code end} as numbers, as long as they are finite; returns the
     * index of the first element not written.
     */
    public int numbers(DataType type, ByteBuf data, int at, int end) {
        int next = NumberText.write(type, data, at, end, !comma, out);
        comma |= next > at;
        return next;
    }

    /** Writes a string given as UTF-8 bytes. */
    public void utf8(ByteBuf from, int at, int length) {
        item();
        out.writeByte('"');
        int copied = at;
        int end = at + length;
        for (int i = at; i < end; i++) {
            byte c = from.getByte(i);
            if (c == '"' || c == '\\' || (c >= 0 && c < 0x20)) {
                out.writeBytes(from, copied, i - copied);
                escape(c);
                copied = i + 1;
            }
        }
        out.writeBytes(from, copied, end - copied);
        out.writeByte('"');
    }

    private void escape(byte c) {
        out.writeByte('\\');
        switch (c) {
            case '"', '\\' -> out.writeByte(c);
            case '\n' -> out.writeByte('n');
            case '\r' -> out.writeByte('r');
            case '\t' -> out.writeByte('t');
            default -> {
                out.writeByte('u').writeByte('0').writeByte('0');
                out.writeByte(HEX[c >> 4]).writeByte(HEX[c & 0xf]);
            }
        }
    }

    /** Starts an item of an array or object: writes a comma unless it is the first. */
    public void item() {
        if (comma) {
            out.writeByte(',');
        }
        comma = true;
    }

    /** The bytes written so far, owned by the caller; continues in a new buffer of initially {@code bytes} bytes. */
    public ByteBuf takePart(int bytes) {
        ByteBuf taken = out;
        out = allocator.buffer(bytes);
        return taken;
    }

    /** The buffer, owned by the caller. */
    public ByteBuf take() {
        ByteBuf taken = out;
        out = Unpooled.EMPTY_BUFFER;
        return taken;
    }

    /** Releases the buffer unless it was taken. */
    public void release() {
        out.release();
        out = Unpooled.EMPTY_BUFFER;
    }
}

package dev.isthmus.transcoder.json;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.number.NumberText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Writes JSON into a buffer of its own; the caller keeps to the grammar, commas are put here. */
public final class JsonWriter {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final ByteBufAllocator allocator;
    private ByteBuf out;
    private boolean comma;

    public JsonWriter(ByteBufAllocator allocator) {
        this.allocator = allocator;
        this.out = allocator.buffer(1024);
    }

    /** The buffer, for tensor elements. */
    public ByteBuf out() {
        return out;
    }

    public JsonWriter open(char bracket) {
        item();
        out.writeByte(bracket);
        comma = false;
        return this;
    }

    public JsonWriter close(char bracket) {
        out.writeByte(bracket);
        comma = true;
        return this;
    }

    /** A member's name; its value comes next. */
    public JsonWriter key(String name) {
        text(name);
        out.writeByte(':');
        comma = false;
        return this;
    }

    JsonWriter raw(String json) {
        item();
        ByteBufUtil.writeAscii(out, json);
        return this;
    }

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

    /** Whether it stands in JSON as it is, one byte a character. */
    private static boolean isPlain(String value) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' || c > '~' || c == '"' || c == '\\') {
                return false;
            }
        }
        return true;
    }

    /** A shape as an array. */
    public JsonWriter shape(Shape shape) {
        open('[');
        for (int i = 0; i < shape.rank(); i++) {
            item();
            ByteBufUtil.writeAscii(out, Long.toString(shape.extent(i)));
        }
        return close(']');
    }

    /** Elements of a tensor's raw form up to there as numbers, as long as they are finite; gives where the next one is. */
    public int numbers(DataType type, ByteBuf data, int at, int end) {
        int next = NumberText.write(type, data, at, end, !comma, out);
        comma |= next > at;
        return next;
    }

    /** A string from its UTF-8 bytes. */
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

    /** The member {@code parameters}, if there is any. {@code flag}, when not empty, is added as true. */
    public void parameters(Map<String, Parameter> parameters, String flag) {
        if (!flag.isEmpty()) {
            parameters(parameters, flag, new Parameter.Bool(true));
        } else if (!parameters.isEmpty()) {
            key("parameters").open('{');
            parameters.forEach(this::parameter);
            close('}');
        }
    }

    /** The member {@code parameters} with one more, which wins. */
    public void parameters(Map<String, Parameter> parameters, String name, Parameter value) {
        key("parameters").open('{');
        parameters.forEach((other, its) -> {
            if (!other.equals(name)) {
                parameter(other, its);
            }
        });
        parameter(name, value);
        close('}');
    }

    private void parameter(String name, Parameter value) {
        key(name);
        switch (value) {
            case Parameter.Bool bool -> raw(Boolean.toString(bool.value()));
            case Parameter.Int64 int64 -> raw(Long.toString(int64.value()));
            case Parameter.Uint64 uint64 -> raw(Long.toUnsignedString(uint64.value()));
            case Parameter.Float64 float64 -> {
                String digits = Double.toString(float64.value());
                // JSON has no numbers for NaN and the infinities.
                if (Double.isFinite(float64.value())) {
                    raw(digits);
                } else {
                    text(digits);
                }
            }
            case Parameter.Text text -> text(text.value());
            case Parameter.Json json -> {
                item();
                ByteBufUtil.writeUtf8(out, json.text());
            }
        }
    }

    /** Before each item of an array or object: a comma, unless it is the first. */
    public void item() {
        if (comma) {
            out.writeByte(',');
        }
        comma = true;
    }

    /** What was written, owned by the caller; what follows goes into another buffer of about so many bytes. */
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

    public void release() {
        out.release();
        out = Unpooled.EMPTY_BUFFER;
    }
}

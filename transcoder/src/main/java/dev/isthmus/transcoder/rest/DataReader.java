package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.number.HalfFloat;
import dev.isthmus.transcoder.number.JsonNumbers;
import dev.isthmus.transcoder.number.NumberRun;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Reads one tensor's {@code data} incrementally: flat, nested like the shape, or a scalar's only value. Owns the raw
 * form until {@link #take()}.
 */
final class DataReader extends TensorData {
    /** The maximum initial allocation, whatever the shape announces. */
    private static final int FIRST_BYTES = 1 << 20;

    /** Numbers up to this length yield the same float whether they are rounded directly or via a double. */
    private static final int SURE_DIGITS = 9;

    /** The length of {@code -Infinity}. */
    private static final int LONGEST_WORD = 9;

    private final JsonNumbers number = new JsonNumbers();
    private final long expectedBytes;
    private final long maxBytes;
    private final int announced;
    private final ByteBuf raw;
    private final boolean runs;
    private @Nullable NumberRun numbers;
    private boolean taken;
    /** The index of the length of the BYTES element being read as an array of its bytes; -1 for none. */
    private int bytesAt = -1;

    /**
     * Whether any element is written in a way that servers interpret differently: NaN and the infinities in any form,
     * integers with a fraction or an exponent, {@code -0}, floats whose value changes if rounded via a double, BYTES as
     * arrays of their bytes, and values without an array.
     */
    private boolean contested;

    /** @param expectedBytes the expected size of the raw form; 0 if unknown */
    DataReader(ReaderState state, TensorCheck check, String tensor, DataType type, int outerDepth, long expectedBytes) {
        super(state, check, tensor, type, outerDepth);
        this.expectedBytes = expectedBytes;
        this.maxBytes = state.limits.bodyBytes();
        this.announced = Math.clamp(Math.min(expectedBytes, maxBytes), 0, Integer.MAX_VALUE);
        this.runs = NumberRun.takes(type);
        this.raw = state.allocator.buffer(Math.clamp(expectedBytes, 16, FIRST_BYTES));
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            switch (token) {
                case NEED_MORE -> {
                    return false;
                }
                case START_ARRAY -> nesting.open(json.depth() - outerDepth, type == DataType.BYTES);
                case END_ARRAY -> {
                    int level = json.depth() - outerDepth + 1;
                    close(level);
                    if (level == 1) {
                        return true;
                    }
                }
                case START_OBJECT, END_OBJECT, KEY, END ->
                    throw check.failure(tensor, "data: an array of " + type + " is expected, got an object");
                default -> {
                    if (json.depth() == outerDepth) {
                        bare(token, json);
                        return true;
                    }
                    element(token, json);
                }
            }
        }
    }

    private void close(int level) {
        if (bytesAt >= 0) {
            raw.setIntLE(bytesAt, raw.writerIndex() - bytesAt - Integer.BYTES);
            bytesAt = -1;
        }
        nesting.close(level);
    }

    /** The value of a scalar, or null. */
    private void bare(JsonToken token, JsonTokenizer json) {
        if (token != JsonToken.NULL) {
            nesting.elements(0, 1);
            contested = true;
            write(token, json);
            requireSize();
        }
    }

    private void element(JsonToken token, JsonTokenizer json) {
        int level = json.depth() - outerDepth;
        boolean octet = type == DataType.BYTES && token == JsonToken.NUMBER && level > 1;
        nesting.element(level, octet);
        if (octet) {
            octet(json);
        } else {
            write(token, json);
        }
        requireSize();
        if (token == JsonToken.NUMBER && runs) {
            run(level, json);
        }
    }

    /** Reads the plain numbers that follow. */
    private void run(int level, JsonTokenizer json) {
        if (numbers == null) {
            numbers = new NumberRun(type, expectedBytes == 0 ? Long.MAX_VALUE : expectedBytes / type.size());
        }
        int read;
        do {
            read = json.run(numbers, raw);
            nesting.elements(level, read);
            requireSize();
        } while (read > 0);
    }

    /** A BYTES element may be an array of its bytes, 0 to 255. */
    private void octet(JsonTokenizer json) {
        if (bytesAt < 0) {
            contested = true;
            bytesAt = raw.writerIndex();
            raw.writeIntLE(0);
        }
        number.read(json.window(), json.tokenStart(), json.tokenEnd());
        if (!number.isInteger(false, 8)) {
            throw check.failure(tensor, "a byte of 0 to 255 is expected in an element of BYTES, got " + number.shown());
        }
        raw.writeByte((int) number.integer());
    }

    private void requireSize() {
        if (raw.readableBytes() > maxBytes) {
            throw check.tooLarge(tensor, maxBytes);
        }
        if (raw.capacity() > FIRST_BYTES && raw.capacity() < announced) {
            // Enough has been received to trust the shape: one allocation instead of many, each of which copies.
            raw.capacity(announced);
        }
    }

    @Override
    boolean contested() {
        return contested;
    }

    @Override
    ByteBuf take() {
        taken = true;
        return raw;
    }

    @Override
    long held() {
        return raw.capacity();
    }

    @Override
    void release() {
        if (!taken) {
            taken = true;
            raw.release();
        }
    }

    /** Appends the value of a scalar token. */
    private void write(JsonToken token, JsonTokenizer json) {
        switch (token) {
            case NUMBER -> number(json);
            case TRUE, FALSE -> bool(token);
            case STRING -> string(json);
            case NAN, NULL -> special(Double.NaN, token.toString());
            case POSITIVE_INFINITY -> special(Double.POSITIVE_INFINITY, token.toString());
            case NEGATIVE_INFINITY -> special(Double.NEGATIVE_INFINITY, token.toString());
            default -> throw check.failure(tensor, "an element of " + type + " is expected, got " + token);
        }
    }

    private void number(JsonTokenizer json) {
        number.read(json.window(), json.tokenStart(), json.tokenEnd());
        switch (type) {
            case INT8, INT16, INT32, INT64 -> integer(true);
            case UINT8, UINT16, UINT32, UINT64 -> integer(false);
            case FP64 -> fp64(json);
            case FP32 -> fp32(json);
            case FP16, BF16 -> raw.writeShortLE(half(HalfFloat.of(type)));
            case BOOL, BYTES -> throw unexpected(number.shown());
        }
    }

    private void fp32(JsonTokenizer json) {
        float value = (float) finite(number.toFloat());
        int length = json.tokenEnd() - json.tokenStart();
        contested |= (length > SURE_DIGITS && value != (float) number.toDouble()) || integerMinusZero(json);
        raw.writeIntLE(Float.floatToRawIntBits(value));
    }

    private void fp64(JsonTokenizer json) {
        contested |= integerMinusZero(json);
        raw.writeLongLE(Double.doubleToRawLongBits(finite(number.toDouble())));
    }

    /** Whether it is written {@code -0}, which some servers read as an integer without a sign. */
    private static boolean integerMinusZero(JsonTokenizer json) {
        int start = json.tokenStart();
        return json.tokenEnd() - start == 2 && json.window()[start] == '-' && json.window()[start + 1] == '0';
    }

    private void integer(boolean signed) {
        contested |= number.hasFraction();
        if (!number.isInteger(signed, type.size() * 8)) {
            throw unexpected(number.shown());
        }
        long value = number.integer();
        switch (type.size()) {
            case 1 -> raw.writeByte((int) value);
            case 2 -> raw.writeShortLE((int) value);
            case 4 -> raw.writeIntLE((int) value);
            default -> raw.writeLongLE(value);
        }
    }

    private double finite(double value) {
        if (Double.isInfinite(value)) {
            throw unexpected(number.shown());
        }
        return value;
    }

    private short half(HalfFloat format) {
        short bits = format.nearest(number);
        if (!format.isFinite(bits)) {
            throw unexpected(number.shown());
        }
        return bits;
    }

    private void bool(JsonToken token) {
        if (type != DataType.BOOL) {
            throw unexpected(token.toString());
        }
        raw.writeByte(token == JsonToken.TRUE ? 1 : 0);
    }

    private void special(double value, String shown) {
        contested = true;
        switch (type) {
            case FP64 -> raw.writeLongLE(Double.doubleToRawLongBits(value));
            case FP32 -> raw.writeIntLE(Float.floatToRawIntBits((float) value));
            case FP16, BF16 -> raw.writeShortLE(HalfFloat.of(type).nearest(value));
            default -> throw unexpected(shown);
        }
    }

    private void string(JsonTokenizer json) {
        ByteBuffer utf8 = json.utf8();
        if (type != DataType.BYTES) {
            word(
                    utf8.remaining() > LONGEST_WORD
                            ? ""
                            : StandardCharsets.UTF_8.decode(utf8).toString());
            return;
        }
        raw.writeIntLE(utf8.remaining());
        raw.writeBytes(utf8);
    }

    /** Non-finite numbers as strings, for clients whose JSON cannot represent them otherwise. */
    private void word(String text) {
        switch (text) {
            case "NaN" -> special(Double.NaN, "\"NaN\"");
            case "Infinity" -> special(Double.POSITIVE_INFINITY, "\"Infinity\"");
            case "-Infinity" -> special(Double.NEGATIVE_INFINITY, "\"-Infinity\"");
            default -> throw unexpected("a string");
        }
    }

    private OipException unexpected(String got) {
        return check.failure(tensor, "a value of " + type + " is expected, got " + got);
    }
}

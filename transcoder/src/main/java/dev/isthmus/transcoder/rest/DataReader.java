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

    private final ElementWriter elements;
    private final long expectedBytes;
    private final long maxBytes;
    private final int announced;
    private final ByteBuf raw;
    private final boolean runs;
    private @Nullable NumberRun numbers;
    private boolean taken;
    /** The index of the length of the BYTES element being read as an array of its bytes; -1 for none. */
    private int bytesAt = -1;

    /** Whether a BYTES element was read as an array of its bytes, or a value without an array. */
    private boolean unusual;

    /** @param expectedBytes the expected size of the raw form; 0 if unknown */
    DataReader(ReaderState state, TensorCheck check, String tensor, DataType type, int outerDepth, long expectedBytes) {
        super(state, check, tensor, type, outerDepth);
        this.elements = new ElementWriter(check, tensor, type);
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
                case START_ARRAY -> open(json.depth() - outerDepth);
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

    private void open(int level) {
        if (bytesAt >= 0) {
            throw nesting.ragged();
        }
        nesting.open(level, type == DataType.BYTES);
    }

    private void close(int level) {
        if (bytesAt >= 0) {
            raw.setIntLE(bytesAt, raw.writerIndex() - bytesAt - Integer.BYTES);
            bytesAt = -1;
            return;
        }
        nesting.close(level);
    }

    /** The value of a scalar, or null. */
    private void bare(JsonToken token, JsonTokenizer json) {
        if (token != JsonToken.NULL) {
            nesting.elements(0, 1);
            unusual = true;
            elements.write(token, json, raw);
            requireSize();
        }
    }

    private void element(JsonToken token, JsonTokenizer json) {
        int level = json.depth() - outerDepth;
        if (type == DataType.BYTES && token == JsonToken.NUMBER && level > 1) {
            octet(level, json);
            return;
        }
        if (bytesAt >= 0) {
            throw nesting.ragged();
        }
        nesting.elements(level, 1);
        elements.write(token, json, raw);
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

    /** A BYTES element may be an array of its bytes, 0 to 255; such an array is not a level of nesting. */
    private void octet(int level, JsonTokenizer json) {
        if (bytesAt < 0) {
            nesting.element(level);
            unusual = true;
            bytesAt = raw.writerIndex();
            raw.writeIntLE(0);
        }
        elements.octet(json, raw);
        requireSize();
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
        return elements.contested() || unusual;
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

    /** Appends JSON elements of one tensor to its raw form. */
    private static final class ElementWriter {
        /** Numbers up to this length yield the same float whether they are rounded directly or via a double. */
        private static final int SURE_DIGITS = 9;

        private final TensorCheck check;
        private final String tensor;
        private final DataType type;
        private final JsonNumbers number = new JsonNumbers();
        private boolean contested;

        ElementWriter(TensorCheck check, String tensor, DataType type) {
            this.check = check;
            this.tensor = tensor;
            this.type = type;
        }

        /** Appends the value of a scalar token. */
        void write(JsonToken token, JsonTokenizer json, ByteBuf to) {
            switch (token) {
                case NUMBER -> number(json, to);
                case TRUE, FALSE -> bool(token, to);
                case STRING -> string(json, to);
                case NAN, NULL -> special(Double.NaN, token.toString(), to);
                case POSITIVE_INFINITY -> special(Double.POSITIVE_INFINITY, token.toString(), to);
                case NEGATIVE_INFINITY -> special(Double.NEGATIVE_INFINITY, token.toString(), to);
                default -> throw check.failure(tensor, "an element of " + type + " is expected, got " + token);
            }
        }

        /** Appends one byte of an element written as an array of its bytes. */
        void octet(JsonTokenizer json, ByteBuf to) {
            number.read(json.window(), json.tokenStart(), json.tokenEnd());
            if (!number.isInteger(false, 8)) {
                throw check.failure(
                        tensor, "a byte of 0 to 255 is expected in an element of BYTES, got " + number.shown());
            }
            to.writeByte((int) number.integer());
        }

        private void number(JsonTokenizer json, ByteBuf to) {
            number.read(json.window(), json.tokenStart(), json.tokenEnd());
            switch (type) {
                case INT8, INT16, INT32, INT64 -> integer(true, to);
                case UINT8, UINT16, UINT32, UINT64 -> integer(false, to);
                case FP64 -> fp64(json, to);
                case FP32 -> fp32(json, to);
                case FP16, BF16 -> to.writeShortLE(half(HalfFloat.of(type)));
                case BOOL, BYTES -> throw unexpected(number.shown());
            }
        }

        private void fp32(JsonTokenizer json, ByteBuf to) {
            float value = (float) finite(number.toFloat());
            int length = json.tokenEnd() - json.tokenStart();
            contested |= (length > SURE_DIGITS && value != (float) number.toDouble()) || integerMinusZero(json);
            to.writeIntLE(Float.floatToRawIntBits(value));
        }

        private void fp64(JsonTokenizer json, ByteBuf to) {
            contested |= integerMinusZero(json);
            to.writeLongLE(Double.doubleToRawLongBits(finite(number.toDouble())));
        }

        /** Whether it is written {@code -0}, which some servers read as an integer without a sign. */
        private static boolean integerMinusZero(JsonTokenizer json) {
            int start = json.tokenStart();
            return json.tokenEnd() - start == 2 && json.window()[start] == '-' && json.window()[start + 1] == '0';
        }

        private void integer(boolean signed, ByteBuf to) {
            contested |= number.hasFraction();
            if (!number.isInteger(signed, type.size() * 8)) {
                throw unexpected(number.shown());
            }
            long value = number.integer();
            switch (type.size()) {
                case 1 -> to.writeByte((int) value);
                case 2 -> to.writeShortLE((int) value);
                case 4 -> to.writeIntLE((int) value);
                default -> to.writeLongLE(value);
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

        private void bool(JsonToken token, ByteBuf to) {
            if (type != DataType.BOOL) {
                throw unexpected(token.toString());
            }
            to.writeByte(token == JsonToken.TRUE ? 1 : 0);
        }

        /**
         * Whether any element is written in a way that servers interpret differently: NaN and the infinities in any form,
         * integers with a fraction or an exponent, {@code -0}, and floats whose value changes if rounded via a double.
         */
        boolean contested() {
            return contested;
        }

        private void special(double value, String shown, ByteBuf to) {
            contested = true;
            switch (type) {
                case FP64 -> to.writeLongLE(Double.doubleToRawLongBits(value));
                case FP32 -> to.writeIntLE(Float.floatToRawIntBits((float) value));
                case FP16, BF16 -> to.writeShortLE(HalfFloat.of(type).nearest(value));
                default -> throw unexpected(shown);
            }
        }

        private void string(JsonTokenizer json, ByteBuf to) {
            ByteBuffer utf8 = json.utf8();
            if (type != DataType.BYTES) {
                word(StandardCharsets.UTF_8.decode(utf8).toString(), to);
                return;
            }
            to.writeIntLE(utf8.remaining());
            to.writeBytes(utf8);
        }

        /** Non-finite numbers as strings, for clients whose JSON cannot represent them otherwise. */
        private void word(String text, ByteBuf to) {
            switch (text) {
                case "NaN" -> special(Double.NaN, "\"NaN\"", to);
                case "Infinity" -> special(Double.POSITIVE_INFINITY, "\"Infinity\"", to);
                case "-Infinity" -> special(Double.NEGATIVE_INFINITY, "\"-Infinity\"", to);
                default -> throw unexpected("a string");
            }
        }

        private OipException unexpected(String got) {
            return check.failure(tensor, "a value of " + type + " is expected, got " + got);
        }
    }
}

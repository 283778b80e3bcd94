package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.number.HalfFloat;
import dev.isthmus.transcoder.number.JsonNumbers;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Appends JSON elements of one tensor to its raw form. */
final class ElementWriter {
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
            case TRUE, FALSE -> bool(token == JsonToken.TRUE, to);
            case STRING -> string(json, to);
            case NAN, NULL -> special(Double.NaN, token == JsonToken.NULL ? "null" : "NaN", to);
            case POSITIVE_INFINITY -> special(Double.POSITIVE_INFINITY, "Infinity", to);
            case NEGATIVE_INFINITY -> special(Double.NEGATIVE_INFINITY, "-Infinity", to);
            default -> throw check.failure(tensor, "an element of " + type + " is expected, got " + token);
        }
    }

    /** Appends one byte of an element written as an array of its bytes. */
    void octet(JsonTokenizer json, ByteBuf to) {
        number.read(json.window(), json.tokenStart(), json.tokenEnd());
        if (!number.isInteger(false, 8)) {
            throw check.failure(tensor, "a byte of 0 to 255 is expected in an element of BYTES, got " + number.shown());
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

    private void bool(boolean value, ByteBuf to) {
        if (type != DataType.BOOL) {
            throw unexpected(Boolean.toString(value));
        }
        to.writeByte(value ? 1 : 0);
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

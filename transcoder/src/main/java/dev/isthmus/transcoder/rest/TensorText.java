package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.NonFinite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * A tensor's elements as a flat JSON array. Floats are written shortest: the fewest digits that read back to the same value.
 * NaN and the infinities, for which JSON has no numbers, are written by policy.
 */
final class TensorText {
    private TensorText() {}

    /** Whether a tensor has elements that are no text, so that all of them must be written as base64. */
    static boolean needsBase64(Tensor tensor) {
        if (tensor.dataType() != DataType.BYTES) {
            return false;
        }
        ByteBuf data = tensor.data();
        for (int at = data.readerIndex(); at < data.writerIndex(); ) {
            int length = data.getIntLE(at);
            if (!ByteBufUtil.isText(data, at + 4, length, StandardCharsets.UTF_8)) {
                return true;
            }
            at += 4 + length;
        }
        return false;
    }

    static boolean hasInfinity(Tensor tensor) {
        ByteBuf data = tensor.data();
        DataType type = tensor.dataType();
        for (int at = data.readerIndex(); type.fixedSize() && at < data.writerIndex(); at += type.size()) {
            if (!finite(type, data, at) && !nan(type, data, at)) {
                return true;
            }
        }
        return false;
    }

    private static boolean nan(DataType type, ByteBuf data, int at) {
        return switch (type) {
            case FP16 -> Float.isNaN(HalfFloat.FP16.toFloat(data.getShortLE(at)));
            case BF16 -> Float.isNaN(HalfFloat.BF16.toFloat(data.getShortLE(at)));
            case FP32 -> Float.isNaN(Float.intBitsToFloat(data.getIntLE(at)));
            case FP64 -> Double.isNaN(Double.longBitsToDouble(data.getLongLE(at)));
            default -> false;
        };
    }

    static void write(Tensor tensor, boolean base64, NonFinite policy, JsonWriter json) {
        json.open('[');
        if (tensor.dataType() == DataType.BYTES) {
            strings(tensor.data(), base64, json);
        } else {
            elements(tensor, policy, json);
        }
        json.close(']');
    }

    private static void strings(ByteBuf data, boolean base64, JsonWriter json) {
        for (int at = data.readerIndex(); at < data.writerIndex(); ) {
            int length = data.getIntLE(at);
            bytes(data, at + 4, length, base64, json);
            at += 4 + length;
        }
    }

    private static void elements(Tensor tensor, NonFinite policy, JsonWriter json) {
        ByteBuf data = tensor.data();
        DataType type = tensor.dataType();
        boolean numbers = NumberText.writes(type);
        int at = data.readerIndex();
        while (at < data.writerIndex()) {
            if (numbers) {
                at = json.numbers(type, data, at);
            }
            if (at < data.writerIndex()) {
                json.item();
                if (policy != NonFinite.TOKEN && !finite(type, data, at)) {
                    nonFinite(tensor, data, at, policy, json.out());
                } else {
                    element(type, data, at, json.out());
                }
                at += type.size();
            }
        }
    }

    private static void bytes(ByteBuf data, int at, int length, boolean base64, JsonWriter json) {
        if (base64) {
            json.text(StandardCharsets.US_ASCII
                    .decode(Base64.getEncoder().encode(data.nioBuffer(at, length)))
                    .toString());
        } else {
            json.utf8(data, at, length);
        }
    }

    /** An element that {@link NumberText} does not write. */
    private static void element(DataType type, ByteBuf data, int at, ByteBuf out) {
        switch (type) {
            case FP16 -> half(out, HalfFloat.FP16, data.getShortLE(at));
            case BF16 -> half(out, HalfFloat.BF16, data.getShortLE(at));
            // The words NaN, Infinity and -Infinity.
            case FP32 -> ascii(out, Float.toString(Float.intBitsToFloat(data.getIntLE(at))));
            // It gives the shortest digits, and the words.
            case FP64 -> ascii(out, shortest(Double.longBitsToDouble(data.getLongLE(at))));
            default -> throw new IllegalStateException(type + " is written elsewhere");
        }
    }

    /** Java always writes two digits, of which the second is not needed for a few of the smallest numbers. */
    private static String shortest(double value) {
        String text = Double.toString(value);
        if (Math.abs(value) < Double.MIN_NORMAL && text.indexOf('E') == text.indexOf('.') + 2) {
            String rounded = oneDigit(text);
            return Double.parseDouble(rounded) == value ? rounded : text;
        }
        return text;
    }

    /** {@code 1.0E-45} of {@code 1.4E-45}. */
    private static String oneDigit(String text) {
        return new BigDecimal(text).round(new MathContext(1)).toString().replaceFirst("^(-?\\d)E", "$1.0E");
    }

    private static boolean finite(DataType type, ByteBuf data, int at) {
        return switch (type) {
            case FP16 -> HalfFloat.FP16.isFinite(data.getShortLE(at));
            case BF16 -> HalfFloat.BF16.isFinite(data.getShortLE(at));
            case FP32 -> Float.isFinite(Float.intBitsToFloat(data.getIntLE(at)));
            case FP64 -> Double.isFinite(Double.longBitsToDouble(data.getLongLE(at)));
            default -> true;
        };
    }

    private static void nonFinite(Tensor tensor, ByteBuf data, int at, NonFinite policy, ByteBuf out) {
        switch (policy) {
            case NULL -> ascii(out, "null");
            case STRING -> {
                out.writeByte('"');
                element(tensor.dataType(), data, at, out);
                out.writeByte('"');
            }
            default ->
                throw new OipException(
                        ErrorCode.INTERNAL,
                        "output '" + tensor.name()
                                + "' has NaN or infinite values, which JSON cannot hold; ask for it as binary data");
        }
    }

    private static void half(ByteBuf out, HalfFloat format, short bits) {
        if (format.isFinite(bits)) {
            ascii(out, format.toString(bits));
        } else {
            ascii(out, Float.toString(format.toFloat(bits)));
        }
    }

    private static void ascii(ByteBuf out, String text) {
        ByteBufUtil.writeAscii(out, text);
    }
}

package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * A tensor's elements as a flat JSON array. Floats are written shortest: the fewest digits that read back to the same value.
 * NaN and the infinities are written as bare words, as Triton does.
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

    static void write(Tensor tensor, boolean base64, JsonWriter json) {
        json.open('[');
        ByteBuf data = tensor.data();
        int step = Math.max(tensor.dataType().size(), 1);
        for (int at = data.readerIndex(); at < data.writerIndex(); at += step) {
            if (tensor.dataType() == DataType.BYTES) {
                int length = data.getIntLE(at);
                bytes(data, at + 4, length, base64, json);
                at += 3 + length;
            } else {
                json.item();
                element(tensor.dataType(), data, at, json.out());
            }
        }
        json.close(']');
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

    private static void element(DataType type, ByteBuf data, int at, ByteBuf out) {
        switch (type) {
            case BOOL -> ascii(out, data.getByte(at) == 0 ? "false" : "true");
            case UINT8 -> integer(out, data.getUnsignedByte(at));
            case UINT16 -> integer(out, data.getUnsignedShortLE(at));
            case UINT32 -> integer(out, data.getUnsignedIntLE(at));
            case UINT64 -> ascii(out, Long.toUnsignedString(data.getLongLE(at)));
            case INT8 -> integer(out, data.getByte(at));
            case INT16 -> integer(out, data.getShortLE(at));
            case INT32 -> integer(out, data.getIntLE(at));
            case INT64 -> integer(out, data.getLongLE(at));
            case FP16 -> half(out, HalfFloat.FP16, data.getShortLE(at));
            case BF16 -> half(out, HalfFloat.BF16, data.getShortLE(at));
            // Their toString gives the shortest digits, and the words NaN, Infinity and -Infinity.
            case FP32 -> ascii(out, Float.toString(Float.intBitsToFloat(data.getIntLE(at))));
            case FP64 -> ascii(out, Double.toString(Double.longBitsToDouble(data.getLongLE(at))));
            case BYTES -> throw new IllegalStateException("elements of BYTES have no fixed size");
        }
    }

    private static void half(ByteBuf out, HalfFloat format, short bits) {
        if (format.isFinite(bits)) {
            ascii(out, format.toString(bits));
        } else {
            ascii(out, Float.toString(format.toFloat(bits)));
        }
    }

    /** Digits straight into the buffer. */
    private static void integer(ByteBuf out, long value) {
        if (value == Long.MIN_VALUE) {
            ascii(out, Long.toString(value));
            return;
        }
        long rest = value;
        if (rest < 0) {
            out.writeByte('-');
            rest = -rest;
        }
        int digits = 1;
        for (long bound = 10; digits < 19 && rest >= bound; bound *= 10) {
            digits++;
        }
        int at = out.writerIndex();
        out.ensureWritable(digits).writerIndex(at + digits);
        for (int i = digits - 1; i >= 0; i--) {
            out.setByte(at + i, (byte) ('0' + rest % 10));
            rest /= 10;
        }
    }

    private static void ascii(ByteBuf out, String text) {
        ByteBufUtil.writeAscii(out, text);
    }
}

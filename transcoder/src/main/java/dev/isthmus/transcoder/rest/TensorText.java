package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.number.HalfFloat;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * Writes a tensor's elements as a flat JSON array. Floats have the fewest digits that read back to the same value. NaN
 * and the infinities, which JSON numbers cannot represent, are written by policy.
 */
final class TensorText {
    private TensorText() {}

    /** Whether a tensor has elements that are not UTF-8, so that all of them must be written as base64. */
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
            if (Double.isInfinite(value(type, data, at))) {
                return true;
            }
        }
        return false;
    }

    /** An element's value; 0 for types other than floats. */
    private static double value(DataType type, ByteBuf data, int at) {
        return switch (type) {
            case FP16, BF16 -> HalfFloat.of(type).toFloat(data.getShortLE(at));
            case FP32 -> data.getFloatLE(at);
            case FP64 -> data.getDoubleLE(at);
            default -> 0;
        };
    }

    static void write(Tensor tensor, boolean base64, NonFinite policy, JsonWriter json) {
        json.open('[');
        elements(tensor, tensor.data().readerIndex(), Integer.MAX_VALUE, base64, policy, json);
        json.close(']');
    }

    /**
     * Writes the elements of a part of a tensor's data, without the enclosing array.
     *
     * @param from the index of the first element
     * @param bytes the length of the part; elements that start in it are written completely
     * @return the index of the next element; the data's end if there is none
     */
    static int elements(Tensor tensor, int from, int bytes, boolean base64, NonFinite policy, JsonWriter json) {
        ByteBuf data = tensor.data();
        int to = from + Math.min(data.writerIndex() - from, bytes);
        return tensor.dataType() == DataType.BYTES
                ? strings(data, from, to, base64, json)
                : numbers(tensor, from, to, policy, json);
    }

    private static int strings(ByteBuf data, int from, int to, boolean base64, JsonWriter json) {
        int at = from;
        while (at < to) {
            int length = data.getIntLE(at);
            bytes(data, at + 4, length, base64, json);
            at += 4 + length;
        }
        return at;
    }

    private static int numbers(Tensor tensor, int from, int to, NonFinite policy, JsonWriter json) {
        ByteBuf data = tensor.data();
        DataType type = tensor.dataType();
        int at = from;
        while (at < to) {
            at = json.numbers(type, data, at, to);
            while (at < to && !Double.isFinite(value(type, data, at))) {
                json.item();
                nonFinite(tensor, value(type, data, at), policy, json.out());
                at += type.size();
            }
        }
        return at;
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

    private static void nonFinite(Tensor tensor, double value, NonFinite policy, ByteBuf out) {
        // NaN, Infinity or -Infinity.
        String word = Double.toString(value);
        ByteBufUtil.writeAscii(
                out,
                switch (policy) {
                    case TOKEN -> word;
                    case NULL -> "null";
                    case STRING -> '"' + word + '"';
                    case ERROR ->
                        throw new OipException(
                                ErrorCode.INTERNAL,
                                "output '" + tensor.name()
                                        + "' has NaN or infinite values, which JSON cannot hold; ask for it as binary data");
                });
    }
}

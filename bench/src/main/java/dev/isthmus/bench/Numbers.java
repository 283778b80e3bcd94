package dev.isthmus.bench;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/** Kinds of tensor elements, 3 x 224 x 224 of each, with their requests in JSON. */
public enum Numbers {
    /** Floats as printed: 0.48627451. */
    F9(DataType.FP32, ","),
    /** Floats of a normalized image as printed: -0.3269673, 1.2047733. */
    NORMAL(DataType.FP32, ","),
    /** Floats as Python prints them, as doubles and with a space after each comma: 0.4862745106220245. */
    F17(DataType.FP32, ", "),
    /** 0.5 */
    SHORT(DataType.FP32, ","),
    /** F9 in nested arrays. */
    NESTED(DataType.FP32, ","),
    U8(DataType.UINT8, ","),
    /** Integers of up to 13 digits. */
    I64(DataType.INT64, ","),
    /** Doubles as printed. */
    D17(DataType.FP64, ","),
    /** 16-bit floats as printed: 0.4863. */
    H4(DataType.FP16, ",");

    static final int COUNT = 3 * 224 * 224;

    private final DataType type;
    private final String separator;

    Numbers(DataType type, String separator) {
        this.type = type;
        this.separator = separator;
    }

    DataType type() {
        return type;
    }

    private String next(SplittableRandom random) {
        return switch (this) {
            case F9, NESTED -> Float.toString((float) random.nextDouble());
            case NORMAL -> Float.toString((float) random.nextGaussian());
            case F17, D17 -> Double.toString(random.nextDouble());
            case H4 -> half((float) random.nextDouble());
            case SHORT -> Double.toString(random.nextInt(20) / 2.0);
            case U8 -> Integer.toString(random.nextInt(256));
            case I64 -> Long.toString(random.nextLong(10_000_000_000_000L));
        };
    }

    /** Four significant digits: enough for most values, too many for some. */
    private static String half(float value) {
        float half = Float.float16ToFloat(Float.floatToFloat16(value));
        return new BigDecimal(half).round(new MathContext(4)).toString();
    }

    /** An inference request with one input. */
    byte[] request() {
        SplittableRandom random = new SplittableRandom(1);
        StringBuilder json = new StringBuilder("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"")
                .append(type)
                .append("\",\"shape\":[1,3,224,224],\"data\":[")
                .append(this == NESTED ? "[" : "");
        for (int i = 0; i < COUNT; i++) {
            json.append(before(i)).append(next(random));
        }
        return json.append(this == NESTED ? "]]]" : "")
                .append("]}]}")
                .toString()
                .getBytes(StandardCharsets.US_ASCII);
    }

    private String before(int i) {
        if (this != NESTED) {
            return i == 0 ? "" : separator;
        }
        if (i == 0) {
            return "[[";
        }
        return i % (224 * 224) == 0 ? "]],[[" : i % 224 == 0 ? "],[" : separator;
    }

    /** Writes the elements as raw little-endian bytes. */
    void raw(ByteBuf to) {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < COUNT; i++) {
            String text = next(random);
            switch (type) {
                case FP32 -> to.writeFloatLE(Float.parseFloat(text));
                case FP64 -> to.writeDoubleLE(Double.parseDouble(text));
                case FP16 -> to.writeShortLE(Float.floatToFloat16(Float.parseFloat(text)));
                case UINT8 -> to.writeByte(Integer.parseInt(text));
                default -> to.writeLongLE(Long.parseLong(text));
            }
        }
    }
}

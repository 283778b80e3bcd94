package dev.isthmus.testing;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** For each datatype: six elements at the limits of its range, as JSON and in raw form. */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record Samples(DataType type, String json, byte[] raw) {

    /** One entry for each datatype; the six elements fit the shapes [6], [2,3] and [3,1,2]. */
    public static final List<Samples> ALL = List.of(
            of(DataType.BOOL, "true,false,true,true,false,false", raw -> raw.writeBytes(new byte[] {1, 0, 1, 1, 0, 0})),
            of(DataType.UINT8, "0,1,127,128,254,255", raw -> raw.writeBytes(new byte[] {0, 1, 127, -128, -2, -1})),
            of(DataType.INT8, "-128,-1,0,1,100,127", raw -> raw.writeBytes(new byte[] {-128, -1, 0, 1, 100, 127})),
            of(DataType.UINT16, "0,1,255,256,65534,65535", raw -> shorts(raw, 0, 1, 255, 256, 65534, 65535)),
            of(DataType.INT16, "-32768,-1,0,1,256,32767", raw -> shorts(raw, -32768, -1, 0, 1, 256, 32767)),
            of(
                    DataType.UINT32,
                    "0,1,65536,2147483648,4294967294,4294967295",
                    raw -> ints(raw, 0, 1, 65536, Integer.MIN_VALUE, -2, -1)),
            of(
                    DataType.INT32,
                    "-2147483648,-1,0,1,65536,2147483647",
                    raw -> ints(raw, Integer.MIN_VALUE, -1, 0, 1, 65536, Integer.MAX_VALUE)),
            of(
                    DataType.UINT64,
                    "0,1,9007199254740993,9223372036854775808,18446744073709551614,18446744073709551615",
                    raw -> longs(raw, 0, 1, 9007199254740993L, Long.MIN_VALUE, -2, -1)),
            of(
                    DataType.INT64,
                    "-9223372036854775808,-9007199254740993,-1,0,9007199254740993,9223372036854775807",
                    raw -> longs(raw, Long.MIN_VALUE, -9007199254740993L, -1, 0, 9007199254740993L, Long.MAX_VALUE)),
            of(
                    DataType.FP16,
                    "0.0,-0.0,1.0,65500.0,6.0E-8,0.1",
                    raw -> shorts(raw, 0, 0x8000, 0x3c00, 0x7bff, 1, 0x2e66)),
            of(
                    DataType.BF16,
                    "0.0,-0.0,1.0,3.39E38,9.0E-41,0.1",
                    raw -> shorts(raw, 0, 0x8000, 0x3f80, 0x7f7f, 1, 0x3dcd)),
            of(
                    DataType.FP32,
                    "0.0,-0.0,0.1,3.4028235E38,1.0E-45,-1.1754944E-38",
                    raw -> floats(raw, 0f, -0f, 0.1f, Float.MAX_VALUE, Float.MIN_VALUE, -Float.MIN_NORMAL)),
            of(
                    DataType.FP64,
                    "0.0,-0.0,0.1,1.7976931348623157E308,5.0E-324,-2.2250738585072014E-308",
                    raw -> doubles(raw, 0, -0.0, 0.1, Double.MAX_VALUE, Double.MIN_VALUE, -Double.MIN_NORMAL)),
            of(
                    DataType.BYTES,
                    "\"\",\"a\",\"\\\"\\\\/\",\"\\u0000\\n\",\"\u00e9\u20ac\",\"\ud83d\ude00\"",
                    raw -> texts(raw, "", "a", "\"\\/", "\0\n", "\u00e9\u20ac", "\ud83d\ude00")));

    /** Writes a raw form. */
    private interface Raw {
        void write(ByteBuf to);
    }

    private static Samples of(DataType type, String json, Raw raw) {
        ByteBuf buffer = Unpooled.buffer();
        raw.write(buffer);
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes).release();
        return new Samples(type, json, bytes);
    }

    /** The elements nested for shape [2,3]. */
    public String nested() {
        String[] elements = json.split(",", -1);
        return "[[" + elements[0] + "," + elements[1] + "," + elements[2] + "],[" + elements[3] + "," + elements[4]
                + "," + elements[5] + "]]";
    }

    @Override
    public String toString() {
        return type.toString();
    }

    private static void shorts(ByteBuf to, int... values) {
        for (int value : values) {
            to.writeShortLE(value);
        }
    }

    private static void ints(ByteBuf to, int... values) {
        for (int value : values) {
            to.writeIntLE(value);
        }
    }

    private static void longs(ByteBuf to, long... values) {
        for (long value : values) {
            to.writeLongLE(value);
        }
    }

    private static void floats(ByteBuf to, float... values) {
        for (float value : values) {
            to.writeIntLE(Float.floatToRawIntBits(value));
        }
    }

    private static void doubles(ByteBuf to, double... values) {
        for (double value : values) {
            to.writeLongLE(Double.doubleToRawLongBits(value));
        }
    }

    private static void texts(ByteBuf to, String... values) {
        for (String value : values) {
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            to.writeIntLE(utf8.length).writeBytes(utf8);
        }
    }
}

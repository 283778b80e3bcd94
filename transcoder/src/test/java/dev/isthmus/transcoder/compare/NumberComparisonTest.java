package dev.isthmus.transcoder.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.compare.OutputComparison.Numbers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class NumberComparisonTest {
    private static final double NAN = Double.NaN;
    private static final double INF = Double.POSITIVE_INFINITY;

    private static Numbers compared(DataType type, Shape shape, ByteBuf first, ByteBuf second) {
        InferResponse a = answer(new Tensor("x", type, shape, Map.of(), first));
        InferResponse b = answer(new Tensor("x", type, shape, Map.of(), second));
        OutputComparison result = TensorComparison.of(a, b).getFirst();
        a.release();
        b.release();
        return (Numbers) result;
    }

    private static InferResponse answer(Tensor output) {
        return new InferResponse(ModelRef.of("m"), "", Map.of(), List.of(output));
    }

    private static ByteBuf raw(DataType type, double... values) {
        ByteBuf out = Unpooled.buffer();
        for (double value : values) {
            switch (type) {
                case UINT8, INT8 -> out.writeByte((int) value);
                case UINT16, INT16 -> out.writeShortLE((int) value);
                case UINT32, INT32 -> out.writeIntLE((int) (long) value);
                case UINT64, INT64 -> out.writeLongLE((long) value);
                case FP16 -> out.writeShortLE(Float.floatToFloat16((float) value));
                case BF16 -> out.writeShortLE(Float.floatToRawIntBits((float) value) >>> 16);
                case FP32 -> out.writeFloatLE((float) value);
                case FP64 -> out.writeDoubleLE(value);
                case BOOL, BYTES -> throw new IllegalArgumentException();
            }
        }
        return out;
    }

    private static ByteBuf longs(long... values) {
        ByteBuf out = Unpooled.buffer();
        for (long value : values) {
            out.writeLongLE(value);
        }
        return out;
    }

    private static double[] of(double... values) {
        return values;
    }

    private static Numbers compared(DataType type, Shape shape, double[] first, double[] second) {
        return compared(type, shape, raw(type, first), raw(type, second));
    }

    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"BOOL", "BYTES"})
    void differences_areMeasured(DataType type) {
        Numbers numbers = compared(type, Shape.of(2, 2), of(3, 4, 0, 1), of(4, 3, 0, 2));
        assertThat(numbers.name()).isEqualTo("x");
        assertThat(numbers.dataType()).isEqualTo(type);
        assertThat(numbers.elements()).isEqualTo(4);
        assertThat(numbers.maxDifference()).isEqualTo(1);
        assertThat(numbers.cosine()).isEqualTo(26 / Math.sqrt(26.0 * 29), within(1e-15));
        assertThat(numbers.sameArgmax()).isEqualTo(0.5);
        assertThat(numbers.equal()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"BOOL", "BYTES"})
    void multiples_haveACosineOfOne(DataType type) {
        Numbers numbers = compared(type, Shape.of(3), of(1, 2, 3), of(4, 8, 12));
        assertThat(numbers.cosine()).isEqualTo(1, within(1e-15));
        assertThat(numbers.maxDifference()).isEqualTo(9);
        assertThat(numbers.sameArgmax()).isOne();
    }

    @ParameterizedTest
    @EnumSource(names = {"INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32", "FP64"})
    void opposites_haveACosineOfMinusOne(DataType type) {
        Numbers numbers = compared(type, Shape.of(2), of(-1, 2), of(2, -4));
        assertThat(numbers.cosine()).isEqualTo(-1, within(1e-15));
        assertThat(numbers.maxDifference()).isEqualTo(6);
        assertThat(numbers.sameArgmax()).isZero();
    }

    /** The largest difference of each type, between the limits of its range. */
    @ParameterizedTest
    @CsvSource({
        "UINT8, 0, 255, 255", "UINT16, 0, 65535, 65535", "UINT32, 0, 4294967295, 4294967295",
        "INT8, -128, 127, 255", "INT16, -32768, 32767, 65535", "INT32, -2147483648, 2147483647, 4294967295",
        "FP16, -65504, 65504, 131008", "FP32, -3.4028235E38, 3.4028235E38, 6.805647E38"
    })
    void edgesOfTheRange_areOrderedAndSubtracted(DataType type, double min, double max, double difference) {
        Numbers numbers = compared(type, Shape.of(2, 2), of(min, max, 0, 1), of(max, min, 0, 1));
        assertThat(numbers.maxDifference()).isEqualTo(difference, within(difference * 1e-7));
        assertThat(numbers.sameArgmax()).isEqualTo(0.5);
    }

    @Test
    void integersOf64Bits_areComparedExactly() {
        long wide = (1L << 53) + 1;
        Numbers signed = compared(DataType.INT64, Shape.of(2), longs(wide, wide - 1), longs(wide - 1, wide));
        assertThat(signed.maxDifference()).isEqualTo(1);
        assertThat(signed.sameArgmax()).isZero();
        Numbers widest = compared(DataType.INT64, Shape.of(1), longs(Long.MIN_VALUE), longs(Long.MAX_VALUE));
        assertThat(widest.maxDifference()).isEqualTo(0x1p64);
        assertThat(widest.cosine()).isEqualTo(-1);
        Numbers rows =
                compared(DataType.INT64, Shape.of(2), longs(Long.MIN_VALUE, Long.MIN_VALUE), longs(Long.MIN_VALUE, 0));
        assertThat(rows.sameArgmax()).isZero();
    }

    @Test
    void unsignedIntegersOf64Bits_areComparedAsUnsigned() {
        Numbers numbers = compared(DataType.UINT64, Shape.of(2), longs(-1, 0), longs(Long.MAX_VALUE, 0));
        assertThat(numbers.maxDifference()).isEqualTo(0x1p63);
        assertThat(numbers.cosine()).isEqualTo(1);
        assertThat(numbers.sameArgmax()).isOne();
        assertThat(compared(DataType.UINT64, Shape.of(2), longs(-1, 1), longs(0, 1))
                        .sameArgmax())
                .isZero();
        assertThat(compared(DataType.UINT64, Shape.of(1), longs(-1), longs(0)).maxDifference())
                .isEqualTo(0x1p64);
        assertThat(compared(DataType.UINT64, Shape.of(1), longs(-1), longs(-2)).maxDifference())
                .isEqualTo(1);
        // 2^63 + 1025 is just above the midpoint of two doubles.
        assertThat(compared(DataType.UINT64, Shape.of(1), longs(Long.MIN_VALUE + 1025), longs(0))
                        .maxDifference())
                .isEqualTo(0x1p63 + 2048);
    }

    @ParameterizedTest
    @EnumSource(names = {"FP16", "BF16", "FP32", "FP64"})
    void nanAndInfinities_equalTheirLike(DataType type) {
        double[] values = of(NAN, INF, -INF, 0.0, 1);
        Numbers same = compared(type, Shape.of(5), values, of(NAN, INF, -INF, -0.0, 1));
        assertThat(same).isEqualTo(new Numbers("x", type, 5, 0, 1, 1));
        assertThat(same.equal()).isTrue();
        Numbers nearly = compared(type, Shape.of(5), values, of(NAN, INF, -INF, 1, 0));
        assertThat(nearly.maxDifference()).isEqualTo(1);
        assertThat(nearly.cosine()).isZero();
        assertThat(nearly.sameArgmax()).isOne();
    }

    @Test
    void nanOfAnyBits_areEqual() {
        ByteBuf quiet = Unpooled.buffer().writeIntLE(0x7fc00000);
        ByteBuf other = Unpooled.buffer().writeIntLE(0xffc12345);
        assertThat(compared(DataType.FP32, Shape.of(1), quiet, other).equal()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = {"FP16", "BF16", "FP32", "FP64"})
    void nanOrInfinity_againstAnythingElse_isInfinitelyFar(DataType type) {
        for (double value : of(NAN, INF, -INF)) {
            for (double other : of(NAN, INF, -INF, 0, 1)) {
                if (Double.compare(value, other) != 0) {
                    Numbers there = compared(type, Shape.of(3), of(1, value, 2), of(1, other, 2));
                    Numbers back = compared(type, Shape.of(3), of(1, other, 2), of(1, value, 2));
                    assertThat(there.maxDifference()).isEqualTo(INF);
                    assertThat(there.cosine()).isZero();
                    assertThat(back).isEqualTo(there);
                }
            }
        }
    }

    @Test
    void zeros_haveACosine() {
        assertThat(compared(DataType.FP32, Shape.of(2), of(0, 0), of(0, -0.0)).cosine())
                .isOne();
        assertThat(compared(DataType.FP32, Shape.of(2), of(0, 0), of(0, 1)).cosine())
                .isZero();
        assertThat(compared(DataType.FP32, Shape.of(2), of(0, 1), of(0, 0)).cosine())
                .isZero();
        assertThat(compared(DataType.FP32, Shape.of(2), of(NAN, 0), of(NAN, 1)).cosine())
                .isZero();
    }

    @ParameterizedTest
    @CsvSource({"1e308", "1e-308", "4.9e-324", "1e200", "1e-200"})
    void cosine_ofValuesWithoutSquares_isRight(double scale) {
        Numbers right = compared(DataType.FP64, Shape.of(2), of(scale, 0), of(0, scale));
        assertThat(right.cosine()).isZero();
        assertThat(right.maxDifference()).isEqualTo(scale);
        Numbers half = compared(DataType.FP64, Shape.of(2), of(scale, scale), of(scale, 0));
        assertThat(half.cosine()).isEqualTo(Math.sqrt(0.5), within(1e-15));
        Numbers opposite = compared(DataType.FP64, Shape.of(2), of(scale, scale), of(-scale, -scale));
        assertThat(opposite.cosine()).isEqualTo(-1, within(1e-15));
        Numbers mixed = compared(DataType.FP64, Shape.of(2), of(scale, scale), of(1, 1));
        assertThat(mixed.cosine()).isEqualTo(1, within(1e-15));
    }

    @Test
    void argmax_isTheFirstOfSeveralAndNanIsLargest() {
        assertThat(compared(DataType.FP32, Shape.of(3), of(1, 2, 2), of(1, 2, 1))
                        .sameArgmax())
                .isOne();
        assertThat(compared(DataType.FP32, Shape.of(3), of(1, 2, 2), of(1, 1, 2))
                        .sameArgmax())
                .isZero();
        assertThat(compared(DataType.FP32, Shape.of(3), of(1, NAN, INF), of(1, NAN, NAN))
                        .sameArgmax())
                .isOne();
        assertThat(compared(DataType.FP32, Shape.of(2), of(INF, NAN), of(INF, 1))
                        .sameArgmax())
                .isZero();
        assertThat(compared(DataType.FP32, Shape.of(2), of(-0.0, 0.0), of(0.0, -0.0))
                        .sameArgmax())
                .isOne();
    }

    @Test
    void argmax_isOfTheLastAxis() {
        double[] first = of(1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1);
        double[] second = of(1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1);
        assertThat(compared(DataType.INT32, Shape.of(2, 3, 2), first, second).sameArgmax())
                .isEqualTo(4 / 6.0);
        assertThat(compared(DataType.INT32, Shape.of(12, 1), first, second).sameArgmax())
                .isOne();
        assertThat(compared(DataType.INT32, Shape.of(12), first, second).sameArgmax())
                .isOne();
    }

    /** Compares with a direct implementation of the definitions. */
    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"BOOL", "BYTES"})
    void randomTensors_areMeasuredAsDefined(DataType type) {
        SplittableRandom random = new SplittableRandom(5);
        for (int round = 0; round < 50; round++) {
            int rows = random.nextInt(1, 6);
            int columns = random.nextInt(1, 9);
            double[] first =
                    random.ints((long) rows * columns, 0, 100).asDoubleStream().toArray();
            double[] second =
                    random.ints((long) rows * columns, 0, 100).asDoubleStream().toArray();
            Numbers numbers = compared(type, Shape.of(rows, columns), first, second);
            assertThat(numbers.maxDifference()).isEqualTo(maxDifference(first, second));
            assertThat(numbers.cosine()).isEqualTo(cosine(first, second), within(1e-12));
            assertThat(numbers.sameArgmax()).isEqualTo(sameArgmax(first, second, columns), within(1e-15));
        }
    }

    private static double maxDifference(double[] first, double[] second) {
        double max = 0;
        for (int i = 0; i < first.length; i++) {
            max = Math.max(max, Math.abs(first[i] - second[i]));
        }
        return max;
    }

    private static double cosine(double[] first, double[] second) {
        double zero = dot(first, first) * dot(second, second);
        return zero == 0 ? (maxDifference(first, second) == 0 ? 1 : 0) : dot(first, second) / Math.sqrt(zero);
    }

    private static double dot(double[] first, double[] second) {
        double sum = 0;
        for (int i = 0; i < first.length; i++) {
            sum += first[i] * second[i];
        }
        return sum;
    }

    private static double sameArgmax(double[] first, double[] second, int columns) {
        double same = 0;
        for (int row = 0; row < first.length; row += columns) {
            same += argmax(first, row, columns) == argmax(second, row, columns) ? 1 : 0;
        }
        return same * columns / first.length;
    }

    private static int argmax(double[] values, int from, int length) {
        int best = from;
        for (int i = from; i < from + length; i++) {
            best = values[i] > values[best] ? i : best;
        }
        return best;
    }
}

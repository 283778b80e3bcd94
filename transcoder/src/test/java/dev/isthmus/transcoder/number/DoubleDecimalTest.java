package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DoubleDecimalTest {
    private static final int VALUES = 500_000;

    private static String text(double value) {
        byte[] to = new byte[DecimalText.MAX_BYTES];
        long[] decimal = new long[2];
        DoubleDecimal.of(Double.doubleToRawLongBits(value), decimal, 0);
        return new String(to, 0, DecimalText.writeSeventeen(decimal[0], (int) decimal[1], to, 0), US_ASCII);
    }

    private static void same(double value) {
        String text = text(value);
        if (!text.equals(Double.toString(value))) {
            // Java writes two digits for a few of the smallest values, although one is enough.
            assertThat(Double.parseDouble(text)).as(text).isEqualTo(value);
            assertThat(digits(text)).isEqualTo(1).isLessThan(digits(Double.toString(value)));
        }
    }

    private static int digits(String text) {
        return new BigDecimal(text).stripTrailingZeros().precision();
    }

    @Test
    void anyDouble_isTheShortestText() {
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < VALUES; i++) {
            double value = Double.longBitsToDouble(random.nextLong());
            if (Double.isFinite(value)) {
                same(value);
            }
        }
    }

    @Test
    void doublesAsTheyAreMet_areTheShortestText() {
        SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < VALUES; i++) {
            same(random.nextDouble(-3, 3));
            same(random.nextInt(256) / 255.0);
            same(random.nextInt() / 1000.0);
            same((double) (random.nextLong() >> random.nextInt(64)));
        }
    }

    @Test
    void smallestDoubles_areTheShortestText() {
        for (long bits = 0; bits < 100_000; bits++) {
            same(Double.longBitsToDouble(bits));
        }
    }

    @Test
    void everyExponent_andItsNeighbours_areTheShortestText() {
        long full = (1L << 52) - 1;
        for (long exponent = 0; exponent < 2047; exponent++) {
            for (long fraction : new long[] {0, 1, 2, 3, full / 2, full / 2 + 1, full / 2 + 2, full - 1, full}) {
                same(Double.longBitsToDouble(exponent << 52 | fraction));
                same(-Double.longBitsToDouble(exponent << 52 | fraction));
            }
        }
    }

    @Test
    void everyPowerOfTen_andItsNeighbours_areTheShortestText() {
        for (int power = -324; power < 309; power++) {
            double value = Double.parseDouble("1e" + power);
            same(value);
            same(Math.nextUp(value));
            same(Math.nextDown(value));
        }
    }

    @Test
    void doubleHalfwayBetweenTwoDecimals_hasTheEvenDigit() {
        for (long i = 0; i < 1_000; i++) {
            same((1L << 50) + 0.25 + i / 2.0);
            same((double) ((1L << 59) + 64L * i));
            same((1L << 60) * 1024.0 + (1L << 18) * (double) i);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0",
                "-0.0",
                "1.0",
                "-1.0",
                "0.1",
                "0.3",
                "0.30000000000000004",
                "0.001",
                "9.99E-4",
                "1234567.8901234567",
                "9999999.999999998",
                "1.0E7",
                "9.007199254740992E15",
                "2.0E-323",
                "5.0E-324",
                "1.7976931348623157E308",
                "-2.2250738585072014E-308",
                "9.5E99",
                "1.0E100"
            })
    void value_hasItsText(String text) {
        assertThat(text(Double.parseDouble(text))).isEqualTo(text);
    }
}

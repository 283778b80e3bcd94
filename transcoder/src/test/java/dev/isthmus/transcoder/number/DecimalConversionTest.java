package dev.isthmus.transcoder.number;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Compares with the platform's parser, bit by bit. */
class DecimalConversionTest {
    private static final int VALUES = 300_000;
    private static final long LARGEST = 999_999_999_999_999_999L;

    private final SplittableRandom random = new SplittableRandom(7);

    private static int floats(long significand, int exponent) {
        float got = DecimalConversion.toFloat(significand, exponent);
        if (Float.isNaN(got)) {
            return 0;
        }
        String text = significand + "e" + exponent;
        assertThat(Float.floatToRawIntBits(got)).as(text).isEqualTo(Float.floatToRawIntBits(Float.parseFloat(text)));
        return 1;
    }

    private static int doubles(long significand, int exponent) {
        double got = DecimalConversion.toDouble(significand, exponent);
        if (Double.isNaN(got)) {
            return 0;
        }
        String text = significand + "e" + exponent;
        assertThat(Double.doubleToRawLongBits(got))
                .as(text)
                .isEqualTo(Double.doubleToRawLongBits(Double.parseDouble(text)));
        return 1;
    }

    private long digits() {
        return random.nextLong(LARGEST) % (long) Math.pow(10, 1 + random.nextInt(18));
    }

    @Test
    void float_ofAnyDigits_isTheNearest() {
        int decided = 0;
        for (int i = 0; i < VALUES; i++) {
            decided += floats(digits(), random.nextInt(-50, 50));
        }
        assertThat(decided).isGreaterThan(VALUES / 2);
    }

    @Test
    void double_ofAnyDigits_isTheNearest() {
        int decided = 0;
        for (int i = 0; i < VALUES; i++) {
            decided += doubles(digits(), random.nextInt(-345, 312));
        }
        assertThat(decided).isGreaterThan(VALUES * 9 / 10);
    }

    @Test
    void float_nearAHalf_isTheNearest() {
        for (int i = 0; i < VALUES; i++) {
            float below = Float.intBitsToFloat(random.nextInt(0x3000_0000, 0x5000_0000));
            near(new BigDecimal(below).add(new BigDecimal(Math.nextUp(below))).divide(BigDecimal.valueOf(2)), false);
        }
    }

    @Test
    void double_nearAHalf_isTheNearest() {
        for (int i = 0; i < VALUES; i++) {
            double below = Double.longBitsToDouble(random.nextLong(0x3000_0000_0000_0000L, 0x5000_0000_0000_0000L));
            near(new BigDecimal(below).add(new BigDecimal(Math.nextUp(below))).divide(BigDecimal.valueOf(2)), true);
        }
    }

    /** The midpoint itself, truncated and rounded up after the maximum number of digits. */
    private static void near(BigDecimal half, boolean wide) {
        for (RoundingMode mode : new RoundingMode[] {RoundingMode.DOWN, RoundingMode.UP}) {
            BigDecimal cut = half.round(new MathContext(DecimalConversion.MAX_DIGITS, mode));
            long significand = cut.unscaledValue().longValueExact();
            if (significand <= LARGEST) {
                floats(significand, -cut.scale());
                if (wide) {
                    doubles(significand, -cut.scale());
                }
            }
        }
    }

    @Test
    void halfOfTwoDoubles_thatIsExact_goesToTheEvenOne() {
        for (long odd = 1L << 53; odd < (1L << 53) + 2000; odd++) {
            assertThat(doubles(odd, 0)).isEqualTo(1);
            assertThat(doubles(odd * 10, -1)).isEqualTo(1);
            assertThat(doubles(odd * 5, 3)).isEqualTo(1);
        }
    }

    @Test
    void double_ofEveryPowerOfTen_isTheNearest() {
        for (int exponent = -342; exponent <= 308; exponent++) {
            for (long significand = 1; significand < 200; significand++) {
                doubles(significand, exponent);
            }
            doubles(LARGEST, exponent);
        }
    }

    @Test
    void outOfRange_isNotDecided() {
        assertThat(DecimalConversion.toDouble(1, 400)).isNaN();
        assertThat(DecimalConversion.toDouble(17, -400)).isNaN();
        assertThat(DecimalConversion.toDouble(1, 307)).isEqualTo(1e307);
        assertThat(DecimalConversion.toFloat(1, 39)).isNaN();
        assertThat(DecimalConversion.toFloat(1, -40)).isNaN();
        assertThat(DecimalConversion.toFloat(0, -1000)).isZero();
    }
}

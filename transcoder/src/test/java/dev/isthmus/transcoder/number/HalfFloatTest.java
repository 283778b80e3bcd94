package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class HalfFloatTest {
    private static String text(HalfFloat format, int bits) {
        byte[] to = new byte[DecimalText.MAX_BYTES];
        return new String(to, 0, DecimalText.writeNine(format.decimal((short) bits), to, 0), US_ASCII);
    }

    private static short read(HalfFloat format, String text) {
        JsonNumbers numbers = new JsonNumbers();
        byte[] token = text.getBytes(US_ASCII);
        numbers.read(token, 0, token.length);
        return format.nearest(numbers);
    }

    /** The nearest of the decimals with the fewest digits that read back to a half float. */
    private static BigDecimal shortest(HalfFloat format, int bits) {
        BigDecimal exact = new BigDecimal(format.toFloat((short) bits));
        for (int digits = 1; ; digits++) {
            BigDecimal down = exact.round(new MathContext(digits, RoundingMode.DOWN));
            BigDecimal up = exact.round(new MathContext(digits, RoundingMode.UP));
            boolean downReads = format.nearest(down.doubleValue()) == (short) bits;
            boolean upReads = format.nearest(up.doubleValue()) == (short) bits;
            if (downReads && upReads) {
                return exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
            }
            if (downReads || upReads) {
                return downReads ? down : up;
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void every_isTheShortestText_inTheFormOfDoubles(HalfFloat format) {
        for (int bits = 0; bits <= 0xffff; bits++) {
            if (!format.isFinite((short) bits)) {
                continue;
            }
            boolean zero = (bits & 0x7fff) == 0;
            double value = zero ? 0 : shortest(format, bits).doubleValue();
            assertThat(text(format, bits)).isEqualTo(Double.toString(zero && bits != 0 ? -0.0 : value));
        }
    }

    @ParameterizedTest
    @EnumSource
    void every_readsBackFromItsText(HalfFloat format) {
        for (int bits = 0; bits <= 0xffff; bits++) {
            if (format.isFinite((short) bits)) {
                assertThat(read(format, text(format, bits))).isEqualTo((short) bits);
            }
        }
    }

    @Test
    void ends_ofTheRange_areFinite() {
        assertThat(text(HalfFloat.FP16, 0x7bff)).isEqualTo("65500.0");
        assertThat(text(HalfFloat.FP16, 0x8001)).isEqualTo("-6.0E-8");
        assertThat(text(HalfFloat.BF16, 0x7f7f)).isEqualTo("3.39E38");
        assertThat(text(HalfFloat.BF16, 0x0001)).isEqualTo("9.0E-41");
        assertThat(HalfFloat.FP16.isFinite((short) 0x7c00)).isFalse();
        assertThat(HalfFloat.BF16.isFinite((short) 0xff80)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "FP16, 2049, 2048", "FP16, 2051, 2052", "FP16, 2049.0000000000000000000001, 2050",
        "FP16, 2048.9999999999999999999999, 2048", "BF16, 257, 256", "BF16, 259, 260",
        "BF16, 257.00000000000000000000001, 258", "FP16, 65519.999999999999999999, 65504"
    })
    void numberBetweenTwo_goesToTheNearestEven(HalfFloat format, String text, float expected) {
        assertThat(format.toFloat(read(format, text))).isEqualTo(expected);
    }
}

package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FloatDecimalTest {
    private static final int VALUES = 500_000;

    private static String text(float value) {
        byte[] to = new byte[DecimalText.MAX_BYTES];
        return new String(
                to, 0, DecimalText.writeNine(FloatDecimal.of(Float.floatToRawIntBits(value)), to, 0), US_ASCII);
    }

    private static void same(float value) {
        String text = text(value);
        if (!text.equals(Float.toString(value))) {
            // Java writes two digits for a few of the smallest values, although one is enough.
            assertThat(Float.parseFloat(text)).as(text).isEqualTo(value);
            assertThat(digits(text)).isEqualTo(1).isLessThan(digits(Float.toString(value)));
        }
    }

    private static int digits(String text) {
        return new BigDecimal(text).stripTrailingZeros().precision();
    }

    @Test
    void anyFloat_isTheShortestText() {
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < VALUES; i++) {
            float value = Float.intBitsToFloat(random.nextInt());
            if (Float.isFinite(value)) {
                same(value);
            }
        }
    }

    @Test
    void floatsAsTheyAreMet_areTheShortestText() {
        SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < VALUES; i++) {
            same((float) random.nextDouble(-3, 3));
            same(random.nextInt(256) / 255f);
            same(random.nextInt());
        }
    }

    @Test
    void everyExponent_andItsNeighbours_areTheShortestText() {
        for (int exponent = 0; exponent < 255; exponent++) {
            for (int fraction : new int[] {0, 1, 2, 3, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x7f_fffe, 0x7f_ffff}) {
                same(Float.intBitsToFloat(exponent << 23 | fraction));
                same(Float.intBitsToFloat(1 << 31 | exponent << 23 | fraction));
            }
        }
    }

    @Test
    void everyPowerOfTen_andItsNeighbours_areTheShortestText() {
        for (int power = -45; power < 39; power++) {
            float value = Float.parseFloat("1e" + power);
            same(value);
            same(Math.nextUp(value));
            same(Math.nextDown(value));
        }
    }

    @Test
    void floatHalfwayBetweenTwoDecimals_hasTheEvenDigit() {
        for (int i = 0; i < 1_000; i++) {
            same(0x1p21f + 0.25f + i / 2f);
            same(0x1p30f + 64f * i);
            same(0x1p40f + 0x1p17f * i);
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
                "0.001",
                "9.999999E-4",
                "1234567.0",
                "1.0E7",
                "1.6777216E7",
                "1.0E-45",
                "3.4028235E38",
                "1.1754944E-38",
                "9.8607613E-32",
                "1.2379401E27"
            })
    void value_hasItsText(String text) {
        assertThat(text(Float.parseFloat(text))).isEqualTo(text);
    }
}

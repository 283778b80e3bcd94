package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class JsonNumbersTest {

    @Test
    void floats_random_areReadToTheNearest() {
        SplittableRandom random = new SplittableRandom(42);
        JsonNumbers numbers = new JsonNumbers();
        for (int i = 0; i < 1_000_000; i++) {
            String text = switch (i & 3) {
                case 0 -> Float.toString(Float.intBitsToFloat(random.nextInt()));
                case 1 -> Double.toString(random.nextDouble());
                case 2 -> random.nextInt(1_000_000) + "." + random.nextLong(1L << 60) + "e" + random.nextInt(-60, 30);
                // Next to the midpoint of two floats.
                default ->
                    new java.math.BigDecimal(
                                    Math.nextUp(Float.intBitsToFloat(random.nextInt(0x7f00_0000))) + 0.5 * Math.ulp(1f))
                            .toString();
            };
            if (text.contains("N") || text.contains("I") || text.length() > 64) {
                continue;
            }
            byte[] token = text.getBytes(UTF_8);
            numbers.read(token, 0, token.length);
            assertThat(Float.floatToRawIntBits(numbers.toFloat()))
                    .as(text)
                    .isEqualTo(Float.floatToRawIntBits(Float.parseFloat(text)));
            assertThat(Double.doubleToRawLongBits(numbers.toDouble()))
                    .as(text)
                    .isEqualTo(Double.doubleToRawLongBits(Double.parseDouble(text)));
        }
    }

    /** The slow parser, whose time is quadratic, gets only the digits that decide. */
    @Test
    void longNumber_isShortenedForTheParser() {
        String middle = new java.math.BigDecimal(1)
                .add(new java.math.BigDecimal(Math.scalb(1.0, -53)))
                .toPlainString();
        for (String text : List.of(middle + "0".repeat(100_000) + "1", "0." + "123456789".repeat(11_111))) {
            JsonNumbers number = new JsonNumbers();
            byte[] bytes = text.getBytes(UTF_8);
            number.read(bytes, 0, bytes.length);
            assertThat(number.toDecimal().precision()).isLessThanOrEqualTo(801);
        }
    }
}

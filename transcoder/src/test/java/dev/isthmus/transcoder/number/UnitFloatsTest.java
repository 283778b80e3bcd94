package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnitFloatsTest {
    private static final int CASES = 200_000;

    private final SplittableRandom random = new SplittableRandom(7);
    private final UnitFloats floats = new UnitFloats(2);
    private final byte[] to = new byte[8];

    /** Reads the text; enough bytes follow in the window for all of it to be examined. */
    private int read(String text) {
        byte[] window = (text + "7".repeat(NumberRun.PADDING)).getBytes(ISO_8859_1);
        return floats.read(window, 0, text.length(), to, 0);
    }

    private float first() {
        return Float.intBitsToFloat((int) ArrayView.INTS.get(to, 0));
    }

    /** Whether it is read, and rightly. */
    private boolean isRead(String number) {
        String text = "," + number + "]";
        if (read(text + " ".repeat(30)) == 0) {
            return false;
        }
        assertThat(floats.position()).as(number).isEqualTo(text.length() - 1);
        assertThat(first()).as(number).isEqualTo(Float.parseFloat(number));
        return true;
    }

    private String digits(int count) {
        StringBuilder digits = new StringBuilder();
        for (int i = 0; i < count; i++) {
            digits.append(random.nextInt(10));
        }
        return digits.toString();
    }

    @Test
    void anyDigits_areTheNearestFloat_orNearHalfWay() {
        for (int i = 0; i < CASES; i++) {
            String sign = random.nextBoolean() ? "-" : "";
            requireReadUnlessNearHalfWay(sign + random.nextInt(10) + "." + digits(1 + random.nextInt(16)));
            requireReadUnlessNearHalfWay(sign + random.nextInt(1, 10) + "." + digits(1 + random.nextInt(23)));
        }
    }

    private void requireReadUnlessNearHalfWay(String number) {
        assertThat(isRead(number) || DecimalConversion.nearHalfWay(Double.parseDouble(number), 9_200))
                .as(number)
                .isTrue();
    }

    @Test
    void besideHalfWay_isReadRightly_orLeft() {
        int read = 0;
        for (int i = 0; i < CASES; i++) {
            float below = (float) random.nextDouble(10);
            BigDecimal half = new BigDecimal(below)
                    .add(new BigDecimal(Math.nextUp(below)))
                    .divide(BigDecimal.TWO);
            String text = half.toPlainString();
            String number = text.substring(0, Math.min(text.length(), 3 + random.nextInt(24)));
            if (read("," + number + "]" + " ".repeat(30)) == 1) {
                assertThat(first()).as(number).isEqualTo(Float.parseFloat(number));
                read++;
            }
        }
        assertThat(read).isGreaterThan(CASES / 10);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1",
                "-1",
                "10.5",
                "01.5",
                ".5",
                "1.",
                "-.5",
                "--1.5",
                "+1.5",
                "1.5e3",
                "1.5E-3",
                "1.5.5",
                "1,5",
                "1.x",
                "a.5",
                "1.12345678x",
                "1.1234567812345678x",
                "1.123456781234567812345678",
                "0.000000000000000000000001",
                "0.00001234567890123456",
                "1.5\u00e9",
                "\u00b1.5",
                "1.\u00b15"
            })
    void others_areLeft(String number) {
        assertThat(read("," + number + "]" + " ".repeat(30))).isZero();
        assertThat(floats.position()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.5", "-0.5", "0.0", "-0.0", "1.12345678", "1.1234567812345678", "0.00000001"})
    void behindCommaOrOneSpace_andBeforeWhatEndsIt_isRead(String number) {
        for (String before : new String[] {",", ", "}) {
            for (String behind : new String[] {",", "]", " ", "\n", "\r", "\t"}) {
                assertThat(read(before + number + behind + " ".repeat(30))).isOne();
                assertThat(first()).isEqualTo(Float.parseFloat(number));
                assertThat(floats.position()).isEqualTo((before + number).length());
            }
        }
    }

    @Test
    void whatIsNotThere_isNotRead() {
        String text = ",1.12345678901234567890123]";
        for (int end = 0; end < text.length(); end++) {
            byte[] window = (text + "7".repeat(NumberRun.PADDING)).getBytes(ISO_8859_1);
            assertThat(floats.read(window, 0, end, to, 0)).isZero();
        }
    }

    @Test
    void noMoreThanThereIsRoomFor_areRead() {
        assertThat(read(",1.5, -2.5,3.5]" + " ".repeat(30))).isEqualTo(2);
        assertThat(floats.position()).isEqualTo(",1.5, -2.5".length());
        assertThat(Float.intBitsToFloat((int) ArrayView.INTS.get(to, 4))).isEqualTo(-2.5f);
    }

    /** More than a block, with numbers that stop it: all others are read, none twice. */
    @Test
    void numbersNearHalfWay_endABlock_behindThoseBeforeThem() {
        String nearHalfWay = "1.0000000596046447";
        List<String> numbers = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            String sign = random.nextBoolean() ? "-" : "";
            numbers.add(random.nextInt(150) == 0 ? nearHalfWay : sign + "0." + digits(1 + random.nextInt(16)));
        }
        String text = "," + String.join(",", numbers) + "]" + " ".repeat(30);
        byte[] window = (text + "7".repeat(NumberRun.PADDING)).getBytes(ISO_8859_1);
        UnitFloats blocks = new UnitFloats(512);
        byte[] elements = new byte[512 * Float.BYTES];
        int at = 0;
        int index = 0;
        while (index < numbers.size()) {
            int count = blocks.read(window, at, text.length(), elements, 0);
            for (int i = 0; i < count; i++) {
                String number = numbers.get(index + i);
                float read = Float.intBitsToFloat((int) ArrayView.INTS.get(elements, Float.BYTES * i));
                assertThat(read).as(number).isEqualTo(Float.parseFloat(number));
            }
            index += count;
            at = blocks.position();
            if (count < 512 && index < numbers.size()) {
                assertThat(text.startsWith("," + numbers.get(index) + ",", at)).isTrue();
                at += 1 + numbers.get(index).length();
                index++;
            }
        }
        assertThat(text.charAt(at)).isEqualTo(']');
    }
}

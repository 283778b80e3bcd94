package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnitFloatBlockTest {
    private static final int NUMBERS = UnitFloatBlock.NUMBERS;
    private static final int LONGEST = 20;

    private final SplittableRandom random = new SplittableRandom(11);
    private final UnitFloatBlock floats = new UnitFloatBlock();
    private final long[] wholes = new long[NUMBERS];
    private final long[] firsts = new long[NUMBERS];
    private final long[] seconds = new long[NUMBERS];
    private final int[] ends = new int[NUMBERS];

    private String number(int digits) {
        StringBuilder number = new StringBuilder(random.nextBoolean() ? "-" : "");
        number.append(random.nextInt(10)).append('.');
        for (int i = 0; i < digits; i++) {
            number.append(random.nextInt(10));
        }
        return number.toString();
    }

    private List<String> numbers(int count) {
        List<String> numbers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            numbers.add(number(1 + random.nextInt(LONGEST)));
        }
        return numbers;
    }

    /** Finds numbers in data that end with the text; anything may be behind it. */
    private int find(byte[] text) {
        byte[] window = Arrays.copyOf(text, text.length + NumberRun.PADDING);
        Arrays.fill(window, text.length, window.length, (byte) (random.nextBoolean() ? ',' : '7'));
        int found = floats.find(window, 0, text.length);
        floats.copyTo(wholes, firsts, seconds, ends);
        return found;
    }

    private static byte[] join(String separator, List<String> numbers) {
        return (separator + String.join(separator, numbers) + separator).getBytes(ISO_8859_1);
    }

    /** Whether it is read here; others are left. */
    private static boolean isPlain(String number) {
        String digits = number.substring(number.indexOf('.') + 1);
        boolean small = digits.length() > 16 && number.matches("-?0\\.0000.*");
        return number.matches("-?[0-9]\\.[0-9]{1," + LONGEST + "}") && !small;
    }

    private void requireFound(int index, String number) {
        boolean negative = number.charAt(0) == '-';
        String digits = number.substring(number.indexOf('.') + 1);
        String sixteen = (digits + "0".repeat(16)).substring(0, 16);
        long whole = Character.digit(number.charAt(negative ? 1 : 0), 10);
        assertThat(wholes[index]).as(number).isEqualTo(negative ? whole | Long.MIN_VALUE : whole);
        EightDigits.values(firsts, index + 1);
        assertThat(EightDigits.value(valueBytes(sixteen.substring(0, 8)))).isEqualTo(firsts[index]);
        assertThat(valueBytes(sixteen.substring(8))).as(number).isEqualTo(seconds[index]);
    }

    private static long valueBytes(String digits) {
        return EightDigits.read(digits.getBytes(ISO_8859_1), 0);
    }

    @ParameterizedTest
    @ValueSource(strings = {",", ", "})
    void numbersOfAnyLength_areFound(String separator) {
        for (int round = 0; round < 2_000; round++) {
            List<String> numbers = numbers(NUMBERS + 50);
            int plain = 0;
            while (plain < NUMBERS && isPlain(numbers.get(plain))) {
                plain++;
            }

            assertThat(find(join(separator, numbers))).isEqualTo(plain);

            int end = 0;
            for (int i = 0; i < plain; i++) {
                end += separator.length() + numbers.get(i).length();
                assertThat(ends[i]).isEqualTo(end);
            }
            requireFound(plain - 1, numbers.get(plain - 1));
        }
    }

    /** A byte of any value at each place of a number: what is found before is right, and nothing invalid is. */
    @ParameterizedTest
    @ValueSource(strings = {",", ", "})
    void anyByte_isReadRightly_orEndsTheBlock(String separator) {
        for (int digits = 1; digits <= LONGEST; digits++) {
            List<String> numbers = numbers(NUMBERS + 50);
            numbers.replaceAll(number -> isPlain(number) ? number : "0.5");
            int changed = 5;
            numbers.set(changed, number(digits).replace("0.0", "0.1"));
            byte[] text = join(separator, numbers);
            int from = 0;
            for (int i = 0; i < changed; i++) {
                from += separator.length() + numbers.get(i).length();
            }
            int to = from + separator.length() + numbers.get(changed).length();
            for (int at = from; at <= to; at++) {
                for (int value = 0; value < 256; value++) {
                    byte[] other = text.clone();
                    other[at] = (byte) value;
                    requireRight(other, separator, find(other));
                }
            }
        }
    }

    private void requireRight(byte[] text, String separator, int found) {
        int start = 0;
        for (int i = 0; i < found; i++) {
            String all = new String(text, start, ends[i] - start, ISO_8859_1);
            assertThat(all).startsWith(separator);
            assertThat(isPlain(all.substring(separator.length()))).as(all).isTrue();
            assertThat((char) text[ends[i]]).isEqualTo(',');
            start = ends[i];
        }
        assertThat(found == NUMBERS || !separatedAlike(text, separator) || !isPlain(next(text, start, separator)))
                .as(next(text, start, separator))
                .isTrue();
    }

    private static String next(byte[] text, int start, String separator) {
        String after = new String(text, start + 1, text.length - start - 1, ISO_8859_1);
        return after.substring(separator.length() - 1, Math.max(separator.length() - 1, after.indexOf(',')));
    }

    /** Others are left as a whole. */
    private static boolean separatedAlike(byte[] text, String separator) {
        String rest = new String(text, ISO_8859_1).replace(separator, "");
        return text[0] == ',' && rest.indexOf(',') < 0;
    }

    @Test
    void whatDoesNotBeginWithAComma_isLeft() {
        assertThat(find((" " + new String(join(",", numbers(200)), ISO_8859_1)).getBytes(ISO_8859_1)))
                .isZero();
    }

    @Test
    void numbersThatAreSeparatedDifferently_areLeft() {
        String text = new String(join(", ", numbers(200)), ISO_8859_1);
        int space = text.indexOf(' ', 100);

        assertThat(find((text.substring(0, space) + "1" + text.substring(space + 1)).getBytes(ISO_8859_1)))
                .isZero();
    }

    @Test
    void commas_areNoNumbers() {
        assertThat(find(",".repeat(4_000).getBytes(ISO_8859_1))).isZero();
        assertThat(find(", ".repeat(4_000).getBytes(ISO_8859_1))).isZero();
    }

    @Test
    void whatIsNotThere_isNotFound() {
        byte[] text = join(",", numbers(NUMBERS + 50));
        for (int length = 0; length < text.length; length++) {
            int found = find(Arrays.copyOf(text, length));
            assertThat(found).isLessThanOrEqualTo(Math.max(0, length / 4));
            assertThat(found == 0 || ends[found - 1] < length).isTrue();
        }
    }

    /** Together with the conversion, and beside halfway between two floats, where few digits are known. */
    @Test
    void smallNumbers_areTheNearestFloat_orLeft() {
        UnitFloats units = new UnitFloats(512);
        byte[] to = new byte[512 * Float.BYTES];
        int read = 0;
        for (int round = 0; round < 500; round++) {
            List<String> numbers = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                numbers.add(small());
            }
            byte[] window = Arrays.copyOf(join(", ", numbers), 400 * 24 + NumberRun.PADDING);
            int count = units.read(window, 0, String.join(", ", numbers).length(), to, 0);
            for (int i = 0; i < count; i++) {
                float element = Float.intBitsToFloat((int) ArrayView.INTS.get(to, Float.BYTES * i));
                assertThat(element).as(numbers.get(i)).isEqualTo(Float.parseFloat(numbers.get(i)));
            }
            read += count;
        }
        assertThat(read).isGreaterThan(10_000);
    }

    /** Blocks begin, are left for an exponent, and begin again; the data end anywhere. */
    @Test
    void longNumbers_withExponentsAmongThem_areAllRead() {
        for (int round = 0; round < 100; round++) {
            List<String> numbers = new ArrayList<>();
            for (int i = 0; i < 3_000; i++) {
                numbers.add(random.nextInt(300) == 0 ? "-1.2345678901234567e-05" : number(9 + random.nextInt(8)));
            }
            byte[] text = join(", ", numbers);
            byte[] window = Arrays.copyOf(text, text.length + NumberRun.PADDING);
            NumberRun run = new NumberRun(DataType.FP32, numbers.size());
            ByteBuf elements = Unpooled.buffer();
            int at = 0;
            while (elements.readableBytes() < numbers.size() * Float.BYTES) {
                int end = Math.min(text.length, at + 30 + random.nextInt(20_000));
                run.read(window, at, end, elements);
                at = run.position();
            }
            for (String number : numbers) {
                assertThat(elements.readFloatLE()).as(number).isEqualTo(Float.parseFloat(number));
            }
        }
    }

    private String small() {
        float below = (float) (random.nextDouble() * Math.pow(10, -random.nextInt(4)));
        BigDecimal exact = random.nextInt(100) > 0
                ? BigDecimal.valueOf((double) below)
                : new BigDecimal(below).add(new BigDecimal(Math.nextUp(below))).divide(BigDecimal.TWO);
        String text = exact.toPlainString() + (exact.scale() > 0 ? "" : ".0");
        return text.substring(0, Math.min(text.length(), 2 + LONGEST));
    }
}

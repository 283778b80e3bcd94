package dev.isthmus.transcoder.json;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.transcoder.message.WireLimits;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class NumberScannerTest {
    static final List<String> KINDS =
            List.of("printed", "normalized", "python", "short", "zeros", "integers", "exponents", "long", "nested");

    private static final WireLimits LIMITS = new WireLimits(1000, 10, 38, 100, 10, 10, false);

    /** Counts elements. */
    private static final class Elements implements ArrayListener {
        private long count;
        private final List<Integer> levels = new ArrayList<>();

        @Override
        public void open(int level) {
            levels.add(level);
        }

        @Override
        public void elements(int level, long number) {
            count += number;
        }

        @Override
        public void close(int level) {
            levels.add(-level);
        }

        @Override
        public void mark() {}

        @Override
        public void reset() {}
    }

    /** What a scanner finds in a text that it reads in parts. */
    private record Outcome(boolean closed, boolean refused, long elements, List<Integer> levels) {
        static Outcome of(byte[] text, int... cuts) {
            Elements elements = new Elements();
            NumberScanner skim = new NumberScanner(elements).begin(LIMITS, 0);
            int from = 0;
            for (int i = 0; i <= cuts.length && !skim.closed() && !skim.refused(); i++) {
                int to = i < cuts.length ? cuts[i] : text.length;
                skim.read(text, from, to);
                from = to;
            }
            return skim.refused()
                    ? new Outcome(false, true, 0, List.of())
                    : new Outcome(skim.closed(), false, elements.count, elements.levels);
        }

        /** The outcome if it sees one byte at a time, so that it can check several together nowhere. */
        static Outcome ofBytes(byte[] text) {
            return of(text, IntStream.range(1, text.length).toArray());
        }
    }

    /** The contents of an array, without its brackets. */
    private static String numbers(String kind, int count, SplittableRandom random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : kind.equals("python") ? ", " : ",");
            text.append(
                    switch (kind) {
                        case "printed" -> Float.toString(random.nextFloat());
                        case "normalized" -> Float.toString((float) random.nextGaussian());
                        case "python" -> Double.toString(random.nextDouble() - 0.5);
                        case "short" -> random.nextInt(20) / 2.0;
                        case "zeros" ->
                            List.of("0", "-0.0", "0.0", "10", "0.05").get(random.nextInt(5));
                        case "integers" -> random.nextInt(1 << random.nextInt(1, 31));
                        case "exponents" -> Double.toString(Math.pow(10, -8 * random.nextDouble()));
                        case "long" -> "1".repeat(random.nextInt(1, 28)) + ".5";
                        default -> "[" + numbers("printed", 4, random) + "]";
                    });
        }
        return text.toString();
    }

    /** A byte is replaced, inserted or deleted at each index. */
    @ParameterizedTest
    @FieldSource("KINDS")
    void arrays_changedAnywhere_areJudgedAsByteByByte(String kind) {
        SplittableRandom random = new SplittableRandom(kind.hashCode());
        byte[] marks = "0719-+.eE,[] \n/:\u00e9".getBytes(ISO_8859_1);
        int refused = 0;
        int taken = 0;
        for (int before = 0; before < 2; before++) {
            byte[] text = ("1,".repeat(before * 17) + numbers(kind, 24, random) + "]").getBytes(ISO_8859_1);
            for (int at = 0; at < text.length; at++) {
                for (byte mark : marks) {
                    byte[] changed = text.clone();
                    changed[at] = mark;
                    byte[] longer = Arrays.copyOf(text, text.length + 1);
                    System.arraycopy(text, at, longer, at + 1, text.length - at);
                    longer[at] = mark;
                    for (byte[] each : List.of(changed, longer)) {
                        Outcome wanted = Outcome.ofBytes(each);
                        assertThat(Outcome.of(each))
                                .as(() -> new String(each, ISO_8859_1))
                                .isEqualTo(wanted);
                        refused += wanted.refused() ? 1 : 0;
                        taken += wanted.closed() ? 1 : 0;
                    }
                }
                byte[] shorter = Arrays.copyOf(text, text.length - 1);
                System.arraycopy(text, at + 1, shorter, at, shorter.length - at);
                assertThat(Outcome.of(shorter)).isEqualTo(Outcome.ofBytes(shorter));
            }
        }
        assertThat(refused).isGreaterThan(1000);
        assertThat(taken).isGreaterThan(1000);
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void arrays_cutAnywhere_areJudgedTheSame(String kind) {
        byte[] text = (numbers(kind, 60, new SplittableRandom(kind.length())) + "]").getBytes(ISO_8859_1);
        Outcome whole = Outcome.ofBytes(text);
        assertThat(whole.closed()).isTrue();
        for (int cut = 0; cut <= text.length; cut++) {
            assertThat(Outcome.of(text, cut)).as("%s", cut).isEqualTo(whole);
            for (int second = cut; second <= text.length; second += 7) {
                assertThat(Outcome.of(text, cut, second)).isEqualTo(whole);
            }
        }
    }

    /** Kinds of numbers that alternate at random, in parts of any size. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void arraysOfSeveralKinds_areCounted(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 20; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 20; i++) {
                String kind = KINDS.get(random.nextInt(KINDS.size()));
                text.append(numbers(kind, 1 + random.nextInt(200), random)).append(',');
            }
            byte[] bytes = text.append("1]").toString().getBytes(ISO_8859_1);
            int[] cuts =
                    random.ints(random.nextInt(10), 0, bytes.length).sorted().toArray();
            Outcome wanted = Outcome.ofBytes(bytes);
            assertThat(wanted.closed()).isTrue();
            assertThat(Outcome.of(bytes, cuts)).isEqualTo(wanted);
        }
    }

    /** Long arrays of one kind, in parts of any size, with few numbers of another kind. */
    @ParameterizedTest
    @FieldSource("KINDS")
    void longArrays_areCounted(String kind) {
        SplittableRandom random = new SplittableRandom(kind.length());
        for (int round = 0; round < 3; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 4; i++) {
                text.append(numbers(kind, random.nextInt(6000), random)).append(text.isEmpty() ? "7," : ",7e-5,");
            }
            byte[] bytes = text.append("1]").toString().replace(",,", ",").getBytes(ISO_8859_1);
            int[] cuts =
                    random.ints(random.nextInt(4), 0, bytes.length).sorted().toArray();
            Outcome wanted = Outcome.ofBytes(bytes);
            assertThat(wanted.closed()).isTrue();
            assertThat(Outcome.of(bytes, cuts)).isEqualTo(wanted);
        }
    }

    /** The longest numbers that are taken wherever they stand, and too long ones. */
    @Test
    void lengthOfNumbers_isLimitedWhereverTheyStand() {
        for (int length = 1; length < 130; length++) {
            for (int before = 0; before < 130; before++) {
                String text =
                        "5,".repeat(before / 2) + " ".repeat(before % 2) + "1".repeat(length) + ",2".repeat(70) + "]";
                boolean closed = Outcome.of(text.getBytes(ISO_8859_1)).closed();
                assertThat(length > 29 || closed).as(text).isTrue();
                assertThat(closed && length > 38).as(text).isFalse();
            }
        }
    }

    /** All texts of up to six relevant characters: accepted only if the grammar accepts them. */
    @Test
    void everyShortText_isTakenOnlyWithinTheGrammar() {
        Pattern grammar = Pattern.compile("-?(0|[1-9][0-9]*)([.][0-9]+)?([eE]-[0-9]+)?");
        String marks = "01-.e+";
        for (int length = 1; length <= 6; length++) {
            long all = Math.round(Math.pow(marks.length(), length));
            for (long i = 0; i < all; i++) {
                StringBuilder number = new StringBuilder();
                for (long rest = i, n = 0; n < length; n++, rest /= marks.length()) {
                    number.append(marks.charAt((int) (rest % marks.length())));
                }
                Elements elements = new Elements();
                NumberScanner skim = new NumberScanner(elements).begin(LIMITS, 0);
                byte[] window = ("1," + number + ",3.25,4,5,6,7]").getBytes(UTF_8);
                skim.read(window, 0, window.length);
                boolean wanted = !number.toString().equals("-0")
                        && grammar.matcher(number).matches();
                assertThat(skim.closed()).as(number.toString()).isEqualTo(wanted);
                assertThat(wanted && elements.count != 7).as(number.toString()).isFalse();
            }
        }
    }
}

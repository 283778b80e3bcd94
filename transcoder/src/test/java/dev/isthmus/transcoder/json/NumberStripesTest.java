package dev.isthmus.transcoder.json;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberStripesTest {
    private static final int FROM = 3;
    private static final int END = FROM + NumberStripes.BYTES;
    private static final byte[] MARKS = "0719-+.eE,[]/:; \n\u0000\u00e9".getBytes(ISO_8859_1);

    private static final byte[] ONES = "1,".repeat(BytePlanes.BYTES / 2).getBytes(ISO_8859_1);

    private final NumberStripes stripes = new NumberStripes();
    private final NumberBlocks blocks = new NumberBlocks();

    /** More than a stripe of numbers, a byte before it included. */
    private static byte[] text(String kind, SplittableRandom random) {
        StringBuilder text = new StringBuilder("10,");
        while (text.length() < END) {
            text.append(
                            switch (kind) {
                                case "printed" -> Float.toString(0.001f + random.nextFloat());
                                case "normalized" ->
                                    Float.toString((random.nextBoolean() ? -1 : 1) * (0.001f + 2 * random.nextFloat()));
                                case "python" -> Double.toString(0.001 + random.nextDouble());
                                default -> Integer.toString(random.nextInt(256));
                            })
                    .append(kind.equals("python") ? ", " : ",");
        }
        return text.toString().getBytes(ISO_8859_1);
    }

    /** Whether the whole stripe is skimmed, as if all its blocks are; otherwise it is up to the first wrong number. */
    private boolean areJudgedAsBlocks(byte[] text) {
        int wanted = blocks.read(text, FROM, END);
        boolean all = wanted > END - NumberBlocks.MAX_DISTANCE;
        long wantedCommas = blocks.commas();
        int until = stripes.read(text, FROM, END);
        long commas = stripes.commas();
        if (all) {
            assertThat(until).as(() -> shown(text)).isEqualTo(wanted);
            assertThat(commas).isEqualTo(wantedCommas);
        } else {
            assertThat(until).as(() -> shown(text)).isLessThan(END);
            assertThat(areSkimmedByBlocks(text, FROM, until))
                    .as(() -> shown(text))
                    .isTrue();
            assertThat(commas).isEqualTo(commas(text, FROM, until));
            int next = until;
            while (next < END && text[next] != ',') {
                next++;
            }
            assertThat(next == END || !areSkimmedByBlocks(text, until, next + 1))
                    .as(() -> shown(text))
                    .isTrue();
        }
        return all;
    }

    private static String shown(byte[] text) {
        return new String(text, ISO_8859_1);
    }

    /** Whether blocks skim a part that begins with a number and ends with a comma, between other numbers. */
    private boolean areSkimmedByBlocks(byte[] text, int from, int to) {
        int end = BytePlanes.BYTES + to - from;
        byte[] part = Arrays.copyOf(ONES, (end / BytePlanes.BYTES + 2) * BytePlanes.BYTES);
        System.arraycopy(text, from, part, BytePlanes.BYTES, to - from);
        for (int i = end; i < part.length; i += 2) {
            part[i] = '1';
        }
        for (int i = end + 1; i < part.length; i += 2) {
            part[i] = ',';
        }
        return blocks.read(part, 0, part.length) > part.length - NumberBlocks.MAX_DISTANCE;
    }

    private static int commas(byte[] text, int from, int to) {
        int commas = 0;
        for (int i = from; i < to; i++) {
            commas += text[i] == ',' ? 1 : 0;
        }
        return commas;
    }

    @ParameterizedTest
    @ValueSource(strings = {"printed", "normalized", "python", "integers"})
    void stripes_changedAnywhere_areJudgedAsBlocks(String kind) {
        SplittableRandom random = new SplittableRandom(kind.hashCode());
        byte[] text = text(kind, random);
        assertThat(areJudgedAsBlocks(text)).isTrue();
        int skimmed = 0;
        int refused = 0;
        for (int at = FROM; at < END; at++) {
            // All bytes near the ends of rows, and a part of the others.
            if ((at + 20) % (NumberStripes.BYTES / 8) > 40 && random.nextInt(4) > 0) {
                continue;
            }
            byte own = text[at];
            for (byte mark : MARKS) {
                text[at] = mark;
                boolean taken = areJudgedAsBlocks(text);
                skimmed += taken ? 1 : 0;
                refused += taken ? 0 : 1;
            }
            text[at] = own;
        }
        assertThat(skimmed).isGreaterThan(1000);
        assertThat(refused).isGreaterThan(1000);
    }

    /** Two bytes, near each other, are changed. */
    @ParameterizedTest
    @ValueSource(strings = {"printed", "normalized", "python", "integers"})
    void stripes_changedTwice_areJudgedAsBlocks(String kind) {
        SplittableRandom random = new SplittableRandom(kind.length());
        for (int round = 0; round < 20; round++) {
            byte[] text = text(kind, random);
            for (int change = 0; change < 1000; change++) {
                byte[] changed = text.clone();
                int at = FROM + random.nextInt(NumberStripes.BYTES - 40);
                changed[at] = MARKS[random.nextInt(MARKS.length)];
                changed[at + 1 + random.nextInt(39)] = MARKS[random.nextInt(MARKS.length)];
                areJudgedAsBlocks(changed);
            }
        }
    }

    /** Numbers of any length at any place of a stripe, its ends and those of its words and rows included. */
    @Test
    void lengthOfNumbers_isLimitedWhereverTheyStand() {
        for (int length = 28; length < 36; length++) {
            for (int before = 0; before < NumberStripes.BYTES - length; before++) {
                byte[] text = "1,".repeat(NumberStripes.BYTES).getBytes(ISO_8859_1);
                int at = FROM - 1 + before / 2 * 2;
                text[FROM - 1] = ',';
                for (int i = 1; i < FROM + before + length - at; i++) {
                    text[at + i] = '1';
                }
                text[FROM + before + length] = ',';
                areJudgedAsBlocks(text);
            }
        }
    }

    @Test
    void severalStripes_areSkimmedAtOnce() {
        byte[] text = "0.25,-7,".repeat(8 * 1024).getBytes(ISO_8859_1);
        int all = stripes.read(text, 5, text.length);
        assertThat(all).isGreaterThan(text.length - NumberStripes.BYTES);
        // Two in eight bytes, the first at 4.
        assertThat(stripes.commas()).isEqualTo((all - 5) / 8 * 2 + ((all - 5) % 8 == 0 ? 0 : 1));
        text[3 * NumberStripes.BYTES] = 'e';
        int until = stripes.read(text, 5, text.length);
        assertThat(until).isBetween(3 * NumberStripes.BYTES - 4, 3 * NumberStripes.BYTES);
        assertThat(text[until - 1]).isEqualTo((byte) ',');
    }
}

package dev.isthmus.transcoder.json;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberStripesTest {
    private static final int FROM = 3;
    private static final int END = FROM + NumberStripes.BYTES;
    private static final byte[] MARKS = "0719-+.eE,[]/:; \n\u0000\u00e9".getBytes(ISO_8859_1);

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

    /** Whether the stripe is skimmed, which it is if all blocks of it are. */
    private boolean areJudgedAsBlocks(byte[] text) {
        int wanted = blocks.read(text, FROM, END);
        boolean all = wanted > END - NumberBlocks.MAX_DISTANCE;
        assertThat(stripes.read(text, FROM, END))
                .as(() -> new String(text, ISO_8859_1))
                .isEqualTo(all ? wanted : FROM);
        assertThat(stripes.commas()).isEqualTo(all ? blocks.commas() : 0);
        return all;
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
        for (int round = 0; round < 50; round++) {
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
        assertThat(until).isBetween(2 * NumberStripes.BYTES - 64, 3 * NumberStripes.BYTES);
        assertThat(text[until - 1]).isEqualTo((byte) ',');
    }
}

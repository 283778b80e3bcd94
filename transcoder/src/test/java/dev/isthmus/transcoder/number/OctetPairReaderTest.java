package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OctetPairReaderTest {
    private static final int CASES = 1_000_000;

    private final SplittableRandom random = new SplittableRandom(7);
    private final OctetPairReader pairs = new OctetPairReader();
    private final byte[] to = new byte[2];

    private int read(String text) {
        byte[] window = (text + "7".repeat(8)).getBytes(ISO_8859_1);
        return pairs.read(window, 0, text.length(), to);
    }

    private char next() {
        int kind = random.nextInt(20);
        return (char) (kind < 14 ? '0' + random.nextInt(10) : kind < 18 ? ',' : random.nextInt(256));
    }

    @Test
    void anyEightCharacters_areReadAsWhatTheyAre() {
        int read = 0;
        for (int i = 0; i < CASES; i++) {
            StringBuilder text = new StringBuilder(",");
            while (text.length() < 9) {
                text.append(next());
            }
            String eight = text.substring(1);
            int comma = eight.indexOf(',');
            int second = eight.indexOf(',', comma + 1);
            boolean pair = comma >= 0
                    && second >= 0
                    && isOctet(eight.substring(0, comma))
                    && isOctet(eight.substring(comma + 1, second));
            assertThat(read(text.toString())).as(eight).isEqualTo(pair ? 2 : 0);
            assertThat(pairs.position()).as(eight).isEqualTo(pair ? second + 1 : 0);
            if (pair) {
                assertThat(Byte.toUnsignedInt(to[0])).isEqualTo(Integer.parseInt(eight.substring(0, comma)));
                assertThat(Byte.toUnsignedInt(to[1])).isEqualTo(Integer.parseInt(eight.substring(comma + 1, second)));
                read++;
            }
        }
        assertThat(read).isGreaterThan(CASES / 20);
    }

    private static boolean isOctet(String text) {
        return text.matches("0|[1-9][0-9]{0,2}") && Integer.parseInt(text) <= 255;
    }

    @Test
    void everyValue_isRead_inBothPlaces() {
        for (int value = 0; value < 256; value++) {
            assertThat(read("," + value + "," + (255 - value) + ",,,,,")).isEqualTo(2);
            assertThat(to).containsExactly((byte) value, (byte) (255 - value));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                ",1,256,999",
                ",01,1,9999",
                ",1,00,9999",
                ",1, 2,9999",
                ",1,2],9999",
                ",-1,2,999",
                ",1,2,3",
                "1,2,3,4,5"
            })
    void whatIsNoPair_isLeft(String text) {
        assertThat(read(text)).isZero();
        assertThat(pairs.position()).isZero();
    }
}

package dev.isthmus.transcoder.json;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class FrequentStringsTest {
    @Test
    void find_ofEachFrequentString_isThatString() {
        for (String string : FrequentStrings.ALL) {
            byte[] text = ("\"" + string + "\"").getBytes(StandardCharsets.US_ASCII);

            assertSame(string, FrequentStrings.find(text, 1, text.length - 1), string);
        }
    }

    @Test
    void find_ofStringsThatDifferInOneByte_isNull() {
        for (String string : FrequentStrings.ALL) {
            byte[] text = string.getBytes(StandardCharsets.US_ASCII);
            for (int i = 0; i < text.length; i++) {
                text[i] ^= (byte) 0x80;
                assertNull(FrequentStrings.find(text, 0, text.length), string);
                text[i] ^= (byte) 0x80;
            }
        }
    }

    @Test
    void find_ofEmptyString_isNull() {
        assertNull(FrequentStrings.find(new byte[] {'"', '"'}, 1, 1));
    }
}

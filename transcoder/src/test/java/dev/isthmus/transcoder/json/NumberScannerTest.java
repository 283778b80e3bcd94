package dev.isthmus.transcoder.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class NumberScannerTest {

    /** Counts elements. */
    private static final class Elements implements ArrayListener {
        private long count;

        @Override
        public void open(int level) {}

        @Override
        public void elements(int level, long number) {
            count += number;
        }

        @Override
        public void close(int level) {}

        @Override
        public void mark() {}

        @Override
        public void reset() {}
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
                NumberScanner skim = new NumberScanner(elements, 10, 38);
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

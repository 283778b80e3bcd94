package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The pattern that OpenAPI documents have for names. */
class NamePatternTest {
    private final Predicate<String> pattern =
            Pattern.compile(NameGrammar.PATTERN).asMatchPredicate();

    @Test
    void pattern_isTheGrammar() {
        for (int c = 0; c < 0x3000; c++) {
            for (String name : List.of(Character.toString(c), "a" + Character.toString(c) + "b")) {
                assertThat(pattern.test(name)).as("U+%04x", c).isEqualTo(NameGrammar.holds(name));
            }
        }
        for (String name :
                List.of(".", "..", "...", ".a", "a.", "%", "%4", "%4g", "a%41", "%zz%4a", "\ud83d\ude00", "")) {
            assertThat(pattern.test(name)).as(name).isEqualTo(NameGrammar.holds(name));
        }
    }
}

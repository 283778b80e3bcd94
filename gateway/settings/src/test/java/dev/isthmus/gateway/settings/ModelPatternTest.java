package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelPatternTest {

    @ParameterizedTest
    @CsvSource({
        "*,        '',        true",
        "*,        anything,  true",
        "llm-*,    llm-,      true",
        "llm-*,    llm-7b,    true",
        "llm-*,    llm,       false",
        "llm-*,    LLM-7b,    false",
        "*-7b,     llm-7b,    true",
        "*-7b,     llm-7b2,   false",
        "a*,       a,         true",
        "a*,       ba,        false",
        "a*a,      a,         false",
        "a*a,      aa,        true",
        "ab*ba,    aba,       false",
        "a*b*c,    abc,       true",
        "a*b*c,    a1b2c,     true",
        "a*b*c,    axxbyyc,   true",
        "a*b*c,    ac,        false",
        "a*b*c,    acb,       false",
        "a*b*c,    a1c2c,     false",
        "*bc*bc*,  bcbc,      true",
        "*bc*bc*,  bcb,       false",
        "*ab*ab*,  abab,      true",
        "*ab*ab*,  aba,       false",
        "a*bc*c,   abc,       false",
        "a**b,     ab,        true",
        "**,       '',        true",
        "a.*,      ax,        false",
        "*bb*b,    abb,       false"
    })
    void star_standsForAnyText(String pattern, String name, boolean matches) {
        assertThat(new ModelPattern(pattern).matches(name)).isEqualTo(matches);
    }

    @Test
    void patterns_areSortedByLiteralsAndThenByTheAlphabet() {
        assertThat(Stream.of("*", "b*", "*a*", "llm-*", "**ab", "a*")
                        .map(ModelPattern::new)
                        .sorted())
                .extracting(ModelPattern::text)
                .containsExactlyElementsOf(List.of("llm-*", "**ab", "*a*", "a*", "b*", "*"));
    }

    @Test
    void nameWithoutStar_isNoPattern() {
        assertThat(ModelPattern.is("m")).isFalse();
        assertThatThrownBy(() -> new ModelPattern("m")).hasMessage("'m' is not a pattern: it has no *");
    }

    @Test
    void equalTexts_areOnePattern() {
        assertThat(new ModelPattern("a*")).isEqualTo(new ModelPattern("a*")).hasSameHashCodeAs(new ModelPattern("a*"));
        assertThat(new ModelPattern("a*")).isNotEqualTo(new ModelPattern("*a")).hasToString("a*");
    }
}

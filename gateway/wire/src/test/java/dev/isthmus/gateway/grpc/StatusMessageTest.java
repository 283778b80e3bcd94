package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StatusMessageTest {
    @ParameterizedTest
    @CsvSource({
        "model 'a' not found, model 'a' not found",
        "50%, 50%25",
        "é, %C3%A9",
        "'a\tb', a%09b",
        "' a  b ', %20a  b%20",
        "' ', %20"
    })
    void text_isEscapedAndReadBack(String text, String field) {
        assertThat(StatusMessage.encoded(text)).isEqualTo(field);
        assertThat(StatusMessage.decoded(field)).isEqualTo(text);
    }

    /** A client's own header may come back in an error, longer than what that client accepts as trailers. */
    @ParameterizedTest
    @ValueSource(strings = {"a", "\u20ac"})
    void longText_isCut(String letter) {
        String text = letter.repeat(6144);
        assertThat(StatusMessage.encoded(text + letter))
                .hasSizeBetween(6144, 6155)
                .endsWith("...");
        assertThat(StatusMessage.decoded(StatusMessage.encoded("a".repeat(6144))))
                .isEqualTo("a".repeat(6144));
    }

    @ParameterizedTest
    @ValueSource(strings = {"50%", "%4", "%zz", "%4z!"})
    void field_withBadEscape_isTakenAsItStands(String field) {
        assertThat(StatusMessage.decoded(field)).isEqualTo(field);
    }

    @ParameterizedTest
    @CsvSource({"%41, A", "%e2%82%AC, €"})
    void field_escapedForNothingOrInSmallLetters_isRead(String field, String text) {
        assertThat(StatusMessage.decoded(field)).isEqualTo(text);
    }
}

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

package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Parameters of requests to the admin address. */
class AdminQueryTest {
    private static AdminQuery query(Map<String, List<String>> given, String... expected) {
        return AdminQuery.of(new AdminRequest("", given, name -> "", "", null, false, "", () -> true), expected);
    }

    @Test
    void parametersThatAreMissing_haveTheirDefaults() {
        AdminQuery query = query(Map.of(), "n", "text", "word");
        assertThat(query.integer("n", 1, 9, 5)).isEqualTo(5);
        assertThat(query.text("text", "none")).isEqualTo("none");
        assertThat(query.oneOf("word", "a", "a", "b")).isEqualTo("a");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "10", "-1", "+1", "1.0", "", " 1", "x", "4294967297", "99999999999999999999"})
    void numberOutOfItsRange_isRefused(String value) {
        AdminQuery query = query(Map.of("n", List.of(value)), "n");
        assertThatThrownBy(() -> query.integer("n", 1, 9, 5))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("parameter 'n': a whole number from 1 to 9 is expected, got '" + value + "'");
    }

    @Test
    void bothEndsOfTheRange_areAccepted() {
        assertThat(query(Map.of("n", List.of("1")), "n").integer("n", 1, 9, 5)).isEqualTo(1);
        assertThat(query(Map.of("n", List.of("9")), "n").integer("n", 1, 9, 5)).isEqualTo(9);
    }

    @Test
    void otherWord_isRefused() {
        AdminQuery query = query(Map.of("word", List.of("c")), "word");
        assertThatThrownBy(() -> query.oneOf("word", "a", "a", "b"))
                .hasMessageContaining("parameter 'word': one of a, b is expected, got 'c'");
    }

    @Test
    void unexpectedParameter_isRefused_withThoseThatAreExpected() {
        assertThatThrownBy(() -> query(Map.of("m", List.of("1")), "n", "text"))
                .hasMessageContaining("parameter 'm': one of n, text is expected");
        assertThatThrownBy(() -> query(Map.of("m", List.of("1")))).hasMessageContaining("no parameter is expected");
    }

    @Test
    void parameterThatIsGivenTwice_isRefused() {
        assertThatThrownBy(() -> query(Map.of("n", List.of("1", "2")), "n"))
                .hasMessageContaining("parameter 'n': one value is expected, got '1, 2'");
    }
}

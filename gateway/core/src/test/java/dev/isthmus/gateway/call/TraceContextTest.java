package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceContextTest {
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String PARENT = "b7ad6b7169203331";
    private static final String VALID = "00-" + TRACE + "-" + PARENT + "-01";

    private static TraceContext parsed(String text) {
        return Objects.requireNonNull(TraceContext.parse(text));
    }

    @ParameterizedTest
    @CsvSource({
        "00, 00, false",
        "00, 01, true",
        "00, 02, false",
        "00, 03, true",
        "00, fe, false",
        "00, ff, true",
        "01, 01, true",
        "cc, 01, true",
        "fe, 01, true"
    })
    void validContext_isRead_withTheFlagsThatAreDefined(String version, String flags, boolean sampled) {
        TraceContext context = parsed(version + "-" + TRACE + "-" + PARENT + "-" + flags);
        assertThat(context.traceId()).isEqualTo(TRACE);
        assertThat(context.parentId()).isEqualTo(PARENT);
        assertThat(context.sampled()).isEqualTo(sampled);
        assertThat(context.child(PARENT))
                .isEqualTo("00-" + TRACE + "-" + PARENT + "-0" + (Integer.parseInt(flags, 16) & 3));
    }

    @Test
    void laterVersions_mayAddFields() {
        assertThat(TraceContext.parse("01" + VALID.substring(2) + "-what-the-future-brings"))
                .isNotNull();
        assertThat(TraceContext.parse("01" + VALID.substring(2) + "-")).isNotNull();
        assertThat(TraceContext.parse("01" + VALID.substring(2) + ".")).isNull();
        assertThat(TraceContext.parse("01" + VALID.substring(2) + "0")).isNull();
        assertThat(TraceContext.parse("01" + VALID.substring(2) + "," + VALID)).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "00",
                VALID + "-",
                VALID + "-x",
                VALID + " ",
                " " + VALID,
                VALID + "," + VALID,
                "ff-" + TRACE + "-" + PARENT + "-01",
                "0-" + TRACE + "-" + PARENT + "-001",
                "00-00000000000000000000000000000000-" + PARENT + "-01",
                "00-" + TRACE + "-0000000000000000-01",
                "00-" + TRACE + PARENT + "---01",
                "00_" + TRACE + "_" + PARENT + "_01"
            })
    void malformedContext_isNone(String text) {
        assertThat(TraceContext.parse(text)).isNull();
    }

    @Test
    void missingContext_isNone() {
        assertThat(TraceContext.parse(null)).isNull();
    }

    /** Any other character at any place, and any length. */
    @Test
    void everyPlace_isChecked() {
        for (int i = 0; i < VALID.length(); i++) {
            for (char c = 0; c < 0x180; c++) {
                String text = VALID.substring(0, i) + c + VALID.substring(i + 1);
                boolean hyphen = VALID.charAt(i) == '-';
                boolean digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                // Another version than 00 is a later one: that ends as it does here.
                assertThat(TraceContext.parse(text) != null)
                        .as("%s at %d", (int) c, i)
                        .isEqualTo(hyphen ? c == '-' : digit);
            }
            assertThat(TraceContext.parse(VALID.substring(0, i))).isNull();
            assertThat(TraceContext.parse(VALID.substring(0, i) + VALID.substring(i + 1)))
                    .isNull();
        }
    }

    @Test
    void decision_changesOneFlag() {
        TraceContext random = parsed("00-" + TRACE + "-" + PARENT + "-02");
        assertThat(random.withSampled(true).child("1234567890abcdef"))
                .isEqualTo("00-" + TRACE + "-1234567890abcdef-03");
        assertThat(random.withSampled(true).withSampled(false)).isEqualTo(random);
    }

    @RepeatedTest(20)
    void newIds_areValid() {
        assertThat(TraceContext.parse("00-" + HexIds.random128() + "-" + HexIds.random64() + "-00"))
                .isNotNull();
    }
}

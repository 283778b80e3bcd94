package dev.isthmus.gateway.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.accesslog.LineWriter.Member;
import dev.isthmus.gateway.accesslog.LineWriter.RepeatedText;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineWriterTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Member A = new Member("a");
    private static final Member B = new Member("b");
    /** So small that each member needs a larger array. */
    private final LineWriter out = new LineWriter(1);

    private String written() {
        int length = out.length();
        return new String(out.take(new byte[1]), 0, length, StandardCharsets.UTF_8);
    }

    @Test
    void membersAreSeparated_andMissingOnesLeftOut() {
        out.begin();
        out.text(A, null);
        out.text(A, "");
        out.number(A, -1);
        out.milliseconds(A, -1);
        out.text(A, "x");
        out.beginObject(B);
        out.text(A, null);
        out.text(A, "y");
        out.number(B, 0);
        out.endObject();
        out.texts(A, List.of("p", "q"));
        out.texts(B, List.of());
        out.end();
        out.begin();
        out.number(A, 1);
        out.end();
        assertThat(written())
                .isEqualTo("{\"a\":\"x\",\"b\":{\"a\":\"y\",\"b\":0},\"a\":[\"p\",\"q\"],\"b\":[]}\n{\"a\":1}\n");
    }

    @Test
    void everyCharacter_isReadAsWritten_onOneLine() throws Exception {
        for (int character = 0; character <= Character.MAX_VALUE; character++) {
            if (Character.isSurrogate((char) character)) {
                continue;
            }
            String text = "<" + (char) character + ">";
            out.begin();
            out.text(A, text);
            out.end();
            String line = written();
            assertThat(line.indexOf('\n')).isEqualTo(line.length() - 1);
            assertThat(JSON.readTree(line).path("a").asText()).isEqualTo(text);
            assertThat(line.chars().limit(line.length() - 1)).allMatch(each -> each >= ' ' && each != 0x7f);
        }
    }

    @Test
    void charactersBeyondTheBasicPlane_andHalvesOfThem() throws Exception {
        out.begin();
        out.text(A, "\ud83d\ude00");
        out.text(B, "\ud83d");
        out.end();
        JsonNode line = JSON.readTree(written());
        assertThat(line.path("a").asText()).isEqualTo("\ud83d\ude00");
        assertThat(line.path("b").asText()).isEqualTo("?");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 9, 10, 99, 100, 999, 1000, 123_456_789_012L, Long.MAX_VALUE})
    void numbers(long value) {
        out.begin();
        out.number(A, value);
        out.end();
        assertThat(written()).isEqualTo("{\"a\":" + value + "}\n");
    }

    @Test
    void milliseconds_haveThreeDecimals() {
        out.begin();
        out.milliseconds(A, 999);
        out.milliseconds(A, 1_000);
        out.milliseconds(A, 12_345_678);
        out.milliseconds(A, Long.MAX_VALUE);
        out.end();
        assertThat(written()).isEqualTo("{\"a\":0.000,\"a\":0.001,\"a\":12.345,\"a\":9223372036854.775}\n");
    }

    @Test
    void repeatedTexts_areWrittenAsOthers_whereverTheyStand() {
        RepeatedText repeated = new RepeatedText("r");
        String first = "x\"";
        List<String> values = List.of(first, first, first, "y", first, first, "", first);
        StringBuilder expected = new StringBuilder();
        for (String value : values) {
            for (boolean leading : new boolean[] {false, true, false}) {
                out.begin();
                out.number(A, leading ? -1 : 1);
                out.text(repeated, value);
                out.text(repeated, null);
                out.number(B, 2);
                out.end();
                expected.append(leading ? "{" : "{\"a\":1,")
                        .append(value.isEmpty() ? "" : "\"r\":\"" + value.replace("\"", "\\\"") + "\",")
                        .append("\"b\":2}\n");
            }
        }
        assertThat(written()).isEqualTo(expected.toString());
    }

    @Test
    void times_areInUtc() {
        out.begin();
        out.time(A, 1_767_225_599_007L);
        out.time(A, 1_767_225_599_999L);
        out.time(A, 1_767_225_600_000L);
        out.end();
        assertThat(written())
                .isEqualTo("{\"a\":\"2025-12-31T23:59:59.007Z\",\"a\":\"2025-12-31T23:59:59.999Z\","
                        + "\"a\":\"2026-01-01T00:00:00.000Z\"}\n");
    }
}

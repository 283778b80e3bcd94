package dev.isthmus.gateway.http1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http1.FieldSection.FieldNames;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FieldSectionTest {

    private static FieldSection fields(String lines) {
        RequestParser parser = new RequestParser(new HeadLimits("request line", 100, 10_000, 100), 1);
        ByteBuf in = Unpooled.wrappedBuffer(MessageTexts.bytes("GET / HTTP/1.1~" + lines + "~"));
        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.HEAD);
        in.release();
        return parser.request().fields();
    }

    @Test
    void field_isFoundByItsNameInAnyCase() {
        FieldSection fields = fields("Content-Type: a~X: b~");
        assertThat(fields.get("content-type")).isEqualTo("a");
        assertThat(fields.get(AsciiString.cached("content-type"))).isEqualTo("a");
        assertThat(fields.contains("x")).isTrue();
        assertThat(fields.get("y")).isNull();
        assertThat(fields.get("content-typ")).isNull();
        assertThat(fields.get("content-types")).isNull();
        assertThat(fields.all("y")).isEmpty();
    }

    @Test
    void fieldsOfOneName_keepTheirOrder() {
        FieldSection fields = fields("X: a~Y: b~x:~X: c , d ~");
        assertThat(fields.all("x")).containsExactly("a", "", "c , d");
        assertThat(fields.get("x")).isEqualTo("a");
        assertThat(fields.size()).isEqualTo(4);
    }

    @Test
    void value_hasNoWhitespaceAround() {
        FieldSection fields = fields("X: \\t a\\tb \\t ~Y:\\tc~Z: d~");
        assertThat(fields.get("x")).isEqualTo("a\tb");
        assertThat(fields.get("y")).isEqualTo("c");
        assertThat(fields.get("z")).isEqualTo("d");
    }

    @Test
    void names_areInLowerCase() {
        FieldSection fields = fields("X-Other: c~!#$%&'*+-.^_`|0Z: d~");
        assertThat(fields.name(0)).isEqualTo("x-other");
        assertThat(fields.name(1)).isEqualTo("!#$%&'*+-.^_`|0z");
    }

    @Test
    void names_thatAreFrequent_areTheSameText() {
        for (String name : FieldNames.FREQUENT) {
            byte[] received = name.toUpperCase(Locale.ROOT).getBytes(StandardCharsets.US_ASCII);
            assertThat(FieldNames.lowerCase(received, 0, received.length)).isSameAs(name);
        }
    }

    /** Names that share a place in the table of frequent ones must not be confused. */
    @Test
    void names_ofEveryShape_areReadAsTheyAre() {
        StringBuilder lines = new StringBuilder();
        for (char c = 'a'; c <= 'z'; c++) {
            lines.append(c).append("ost: ~").append("hos").append(c).append(": ~");
        }
        FieldSection fields = fields(lines.toString());
        for (int i = 0; i < 26; i++) {
            assertThat(fields.name(2 * i)).isEqualTo((char) ('a' + i) + "ost");
            assertThat(fields.name(2 * i + 1)).isEqualTo("hos" + (char) ('a' + i));
        }
    }

    @Test
    void moreFieldsThanFirstExpected_areRead() {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            lines.append("x-").append(i).append(": ").append("v".repeat(i)).append('~');
        }
        FieldSection fields = fields(lines.toString());
        for (int i = 0; i < 100; i++) {
            assertThat(fields.get("x-" + i)).hasSize(i);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "7,7",
        "007,7",
        "922337203685477579,922337203685477579",
        "'',-1",
        "7x,-1",
        "-7,-1",
        "9223372036854775808,-1"
    })
    void number_hasDigitsOnly(String value, long number) {
        assertThat(fields("X: " + value + "~").number(0)).isEqualTo(number);
    }
}

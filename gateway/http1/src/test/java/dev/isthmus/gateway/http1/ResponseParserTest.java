package dev.isthmus.gateway.http1;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Responses of servers, split at every byte, each followed by another one. Written as in {@link MessageTexts}. */
class ResponseParserTest {
    private static final HeadLimits LIMITS = new HeadLimits("status line", 60, 100, 10);
    private static final String NEXT = "HTTP/1.1 299 Next~Content-Length: 1~~n";

    private static void check(String payload, String expected) {
        byte[] bytes = MessageTexts.bytes(payload);
        for (int split = 0; split <= bytes.length; split++) {
            ResponseParser parser = new ResponseParser(LIMITS, 1 << 20);
            assertThat(MessageTexts.read(
                            parser, () -> Integer.toString(parser.response().status()), bytes, split))
                    .as("split at " + split)
                    .isEqualTo(expected);
        }
        ResponseParser parser = new ResponseParser(LIMITS, 1 << 20);
        assertThat(MessageTexts.readByByte(
                        parser, () -> Integer.toString(parser.response().status()), bytes))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            HTTP/1.1 200 OK~Content-Length: 2~~ab                                    | 200[ab]
            HTTP/1.1 200 OK~Content-Length: 0~~                                      | 200[]
            HTTP/1.1 200 OK~content-length:02~~ab                                    | 200[ab]
            HTTP/1.0 200 OK~Content-Length: 2~~ab                                    | 200[ab]
            `HTTP/1.1 200 ~Content-Length: 0~~`                                      | 200[]
            HTTP/1.1 200~Content-Length: 0~~                                         | 200[]
            HTTP/1.1 200 Not\\tso b\\xe4d~Content-Length: 0~~                        | 200[]
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~~2~ab~1~c~0~~                 | 200[abc]
            HTTP/1.1 200 OK~TRANSFER-ENCODING: CHUNKED~~2;x=y~ab~0~X: y~~            | 200[ab]
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~~0~~                          | 200[]
            HTTP/1.1 204 No Content~~                                                | 204[]
            HTTP/1.1 204 No Content~Content-Length: 0~~                              | 204[]
            HTTP/1.1 304 Not Modified~Content-Length: 9~~                            | 304[]
            HTTP/1.1 100 Continue~~                                                  | 100[]
            HTTP/1.1 103 Early Hints~Link: </x>~~HTTP/1.1 200 OK~Content-Length: 1~~a | 103[]200[a]
            HTTP/1.1 101 Switching Protocols~Upgrade: x~~                            | 101[]
            HTTP/1.1 500 No~Content-Length: 2~X:~Y: \\t b c \\t~~ab                  | 500[ab]
            """)
    void response_asItMustBe_isRead_andTheNextOneToo(String payload, String expected) {
        check(payload + NEXT, expected + "299[n]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"9", "a", "f", "A", "F", "0000000000000010"})
    void chunkSize_isHexadecimal(String size) {
        String chunk = "x".repeat(Integer.parseInt(size, 16));
        check(
                "HTTP/1.1 200 OK~Transfer-Encoding: chunked~~" + size + "~" + chunk + "~0~~" + NEXT,
                "200[" + chunk + "]299[n]");
    }

    /** The next response is part of the body. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK~~",
                "HTTP/1.0 200 OK~~",
                "HTTP/1.1 500 No~Connection: keep-alive~~",
            })
    void response_withoutALength_endsWithTheConnection(String payload) {
        check(payload + "ab~" + NEXT, payload.substring(9, 12) + "[ab\r\n" + NEXT.replace("~", "\r\n") + "]...");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            HTTP/1.1 200 OK~Content-Length: 2~~a
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~~2~ab~
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~~2~ab~0~
            """)
    void response_thatIsIncomplete_doesNotEnd(String payload) {
        check(payload, "200...");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            ~HTTP/1.1 200 OK~Content-Length: 0~~
            ` HTTP/1.1 200 OK~Content-Length: 0~~`
            \\x00HTTP/1.1 200 OK~Content-Length: 0~~
            HTTP/1.1\\t200 OK~Content-Length: 0~~
            HTTP/1.1  200 OK~Content-Length: 0~~
            HTTP/1.1 200OK~Content-Length: 0~~
            HTTP/1.1 200\\tOK~Content-Length: 0~~
            HTTP/1.1 20 OK~Content-Length: 0~~
            HTTP/1.1 2000 OK~Content-Length: 0~~
            HTTP/1.1 +20 OK~Content-Length: 0~~
            HTTP/1.1 2x0 OK~Content-Length: 0~~
            HTTP/1.1 099 OK~Content-Length: 0~~
            HTTP/1.1~Content-Length: 0~~
            HTTP/1.2 200 OK~Content-Length: 0~~
            HTTP/2.0 200 OK~Content-Length: 0~~
            HTTP/11 200 OK~Content-Length: 0~~
            http/1.1 200 OK~Content-Length: 0~~
            ICY 200 OK~Content-Length: 0~~
            {"ready":true}
            HTTP/1.1 200 O\\x00K~Content-Length: 0~~
            HTTP/1.1 200 O\\rK~Content-Length: 0~~
            HTTP/1.1 200 O\\x7fK~Content-Length: 0~~
            HTTP/1.1 200 OK\\nContent-Length: 0~~
            HTTP/1.1 200 OK~Content-Length: 0\\n~
            HTTP/1.1 200 OK~Content-Length: 0~\\n
            HTTP/1.1 200 OK~ Content-Length: 0~~
            HTTP/1.1 200 OK~X: a~ b~Content-Length: 0~~
            HTTP/1.1 200 OK~Content-Length : 0~~
            HTTP/1.1 200 OK~: x~Content-Length: 0~~
            HTTP/1.1 200 OK~x~Content-Length: 0~~
            HTTP/1.1 200 OK~X: \\x01~Content-Length: 0~~
            HTTP/1.1 200 OK~X: a\\rb~Content-Length: 0~~
            HTTP/1.1 200 OK~Content-Length: 2~Content-Length: 2~~ab
            HTTP/1.1 200 OK~Content-Length: 2~Content-Length: 3~~ab
            HTTP/1.1 200 OK~Content-Length: 2, 2~~ab
            HTTP/1.1 200 OK~Content-Length: -1~~ab
            HTTP/1.1 200 OK~Content-Length: +2~~ab
            HTTP/1.1 200 OK~Content-Length: 0x2~~ab
            HTTP/1.1 200 OK~Content-Length:~~ab
            HTTP/1.1 200 OK~Content-Length: 9223372036854775808~~ab
            HTTP/1.1 200 OK~Content-Length: 2~Transfer-Encoding: chunked~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~Content-Length: 2~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding: gzip~~ab
            HTTP/1.1 200 OK~Transfer-Encoding: gzip, chunked~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding: chunked, gzip~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding: xchunked~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding: identity~~
            HTTP/1.1 200 OK~Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~
            HTTP/1.1 200 OK~Transfer-Encoding:~~
            HTTP/1.0 200 OK~Transfer-Encoding: chunked~~0~~
            HTTP/1.1 204 No~Content-Length: 2~Transfer-Encoding: chunked~~
            """)
    void head_ambiguous_isRefused(String payload) {
        check(payload + NEXT, "!");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            +1~a~0~~
            -1~a~0~~
            0x1~a~0~~
            ` 1~a~0~~`
            1 ~a~0~~
            ~a~0~~
            g~a~0~~
            ;x~a~0~~
            80000000~a~0~~
            00000000000000001~a~0~~
            1\\na~0~~
            1\\ra~0~~
            1;x="y"~a~0~~
            1;x=\\x00~a~0~~
            1;\\n~a~0~~
            """)
    void chunkSize_ambiguous_isRefused(String chunks) {
        check("HTTP/1.1 200 OK~Transfer-Encoding: chunked~~" + chunks + NEXT, "200!");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            1~a\\n0~~
            1~a\\r0~~
            1~ab~0~~
            1~a0~~
            1~a~0~Content-Length: 5~~
            1~a~0~transfer-encoding: chunked~~
            1~a~0~X : b~~
            1~a~0~ X: b~~
            1~a~0~\\n
            1~a~0\\n~
            """)
    void chunk_orTrailersAmbiguous_areRefused(String chunks) {
        check("HTTP/1.1 200 OK~Transfer-Encoding: chunked~~" + chunks + NEXT, "200!");
    }

    @ParameterizedTest
    @CsvSource({"41, 200[]299[n]", "42, !"})
    void statusLine_isLimited(int reason, String expected) {
        String payload = "HTTP/1.1 200 " + "x".repeat(reason + 6) + "~Content-Length: 0~~";
        check(payload + NEXT, expected);
    }

    /** "Content-Length: 0" has 17 bytes, "x: " 3. */
    @ParameterizedTest
    @CsvSource({"80, 200[]299[n]", "81, !"})
    void fields_areLimited(int value, String expected) {
        check("HTTP/1.1 200 OK~Content-Length: 0~x: " + "y".repeat(value) + "~~" + NEXT, expected);
    }

    @Test
    void numberOfFields_isLimited() {
        check("HTTP/1.1 200 OK~" + "a:~".repeat(10) + "~", "200[]...");
        check("HTTP/1.1 200 OK~" + "a:~".repeat(11) + "~", "!");
    }

    @Test
    void trailers_areLimited() {
        String head = "HTTP/1.1 200 OK~Transfer-Encoding: chunked~~0~";
        check(head + "a:~".repeat(10) + "~" + NEXT, "200[]299[n]");
        check(head + "a:~".repeat(11) + "~" + NEXT, "200!");
        check(head + "a: " + "b".repeat(98) + "~~" + NEXT, "200!");
    }

    @Test
    void chunkExtension_isLimited() {
        String head = "HTTP/1.1 200 OK~Transfer-Encoding: chunked~~1;";
        check(head + "x".repeat(255) + "~a~0~~" + NEXT, "200[a]299[n]");
        check(head + "x".repeat(256) + "~a~0~~" + NEXT, "200!");
    }

    /** The memory of a head is that of the next one, but not of the chunks and trailers behind it. */
    @Test
    void head_isValidUntilTheNextOne() {
        ResponseParser parser = new ResponseParser(LIMITS, 1 << 20);
        ByteBuf in = Unpooled.wrappedBuffer(MessageTexts.bytes(
                "HTTP/1.1 200 OK~Transfer-Encoding: chunked~X: first~~1~a~0~Y: trailer of it~~" + NEXT));
        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.HEAD);
        FieldSection head = parser.response().fields();
        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.CONTENT);
        parser.content().release();
        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.END);
        assertThat(head.get("x")).isEqualTo("first");
        assertThat(head.get("transfer-encoding")).isEqualTo("chunked");

        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.HEAD);
        assertThat(parser.response().status()).isEqualTo(299);
        assertThat(parser.response().fields().get("content-length")).isEqualTo("1");
        assertThat(parser.response().fields().size()).isEqualTo(1);
        in.release();
    }

    @Test
    void part_isLimited() {
        ResponseParser parser = new ResponseParser(LIMITS, 3);
        ByteBuf in = Unpooled.wrappedBuffer(MessageTexts.bytes("HTTP/1.1 200 OK~Content-Length: 8~~abcdefgh"));
        assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.HEAD);
        for (String expected : new String[] {"abc", "def", "gh"}) {
            assertThat(parser.next(in)).isEqualTo(Http1Parser.ParserEvent.CONTENT);
            ByteBuf part = parser.content();
            assertThat(part.toString(StandardCharsets.US_ASCII)).isEqualTo(expected);
            part.release();
        }
        assertThat(parser.ended()).isTrue();
        in.release();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            HTTP/1.1 200 OK~~                               | true
            HTTP/1.1 200 OK~Connection: close~~             | false
            HTTP/1.1 200 OK~connection: x, CLOSE~~          | false
            HTTP/1.1 200 OK~Connection: x~Connection: close~~ | false
            HTTP/1.1 200 OK~Connection: closed~~            | true
            HTTP/1.0 200 OK~~                               | false
            HTTP/1.0 200 OK~Connection: Keep-Alive~~        | true
            HTTP/1.0 200 OK~Connection: keep-alive, close~~ | false
            """)
    void connection_persists(String payload, boolean persistent) {
        ResponseParser parser = new ResponseParser(LIMITS, 1 << 20);
        byte[] bytes = MessageTexts.bytes(payload);
        assertThat(MessageTexts.read(
                        parser, () -> Boolean.toString(parser.response().persistent()), bytes, 0))
                .isEqualTo(persistent + "[]...");
    }
}

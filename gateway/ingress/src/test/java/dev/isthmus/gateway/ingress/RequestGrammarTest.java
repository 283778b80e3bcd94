package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http1.MessageTexts;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * HTTP/1.1 messages that two servers may parse differently. Each is sent whole and split at every byte, followed by a
 * request that must never be served. {@code ~} is CR LF; {@code \r}, {@code \n}, {@code \t} and {@code \xHH} are bytes.
 */
class RequestGrammarTest {
    private static final String POST = "POST /v2/models/m/infer HTTP/1.1~Host: a~";
    private static final String CHUNKED = POST + "Transfer-Encoding: chunked~~";
    private static final String SMUGGLED = POST + "Content-Length: 8~~smuggled";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            POST /v2 HTTP/1.9~Host: a~~                                              | 505
            POST /v2 HTTP/1.2~Host: a~~                                              | 505
            POST /v2 HTTP/2.0~Host: a~~                                              | 505
            POST /v2 HTTP/3.0~Host: a~~                                              | 505
            POST /v2 HTTP/0.9~Host: a~~                                              | 505
            POST /v2 HTTP/1.10~Host: a~~                                             | 400
            POST /v2 HTTP/01.1~Host: a~~                                             | 400
            POST /v2 HTTP/1~Host: a~~                                                | 400
            POST /v2 HTTP/1.x~Host: a~~                                              | 400
            POST /v2 HTTP/+.1~Host: a~~                                              | 400
            POST /v2 HTTP/1.1 ~Host: a~~                                             | 400
            POST /v2 HTTP/1.1 x~Host: a~~                                            | 400
            POST  /v2 HTTP/1.1~Host: a~~                                             | 400
            POST /v2  HTTP/1.1~Host: a~~                                             | 400
            POST\\t/v2 HTTP/1.1~Host: a~~                                            | 400
            POST /v2\\tHTTP/1.1~Host: a~~                                            | 400
            POST /v2 \\tHTTP/1.1~Host: a~~                                           | 400
            POST\\x0b/v2 HTTP/1.1~Host: a~~                                          | 400
            POST /v2 /v3 HTTP/1.1~Host: a~~                                          | 400
            POST /v2\\x00 HTTP/1.1~Host: a~~                                         | 400
            POST /v2\\x7f HTTP/1.1~Host: a~~                                         | 400
            POST /v2\\xff HTTP/1.1~Host: a~~                                         | 400
            P(ST /v2 HTTP/1.1~Host: a~~                                              | 400
            POST~Host: a~~                                                           | 400
            POST /v2~Host: a~~                                                       | 400
            ` POST /v2 HTTP/1.1~Host: a~~`                                           | 400
            \\tPOST /v2 HTTP/1.1~Host: a~~                                           | 400
            \\x00POST /v2 HTTP/1.1~Host: a~~                                         | 400
            \\nPOST /v2 HTTP/1.1~Host: a~~                                           | 400
            \\r\\rPOST /v2 HTTP/1.1~Host: a~~                                        | 400
            ~~POST /v2 HTTP/1.1~Host: a~~                                            | 400
            \\x7fPOST /v2 HTTP/1.1~Host: a~~                                         | 400
            \\xefPOST /v2 HTTP/1.1~Host: a~~                                         | 400
            POST /v2 HTTP/1.1\\nHost: a~~                                            | 400
            POST /v2 HTTP/1.1\\rHost: a~~                                            | 400
            POST /v2 HTTP/1.1~Host: a\\n~                                            | 400
            POST /v2 HTTP/1.1~Host: a\\n\\n                                          | 400
            POST /v2 HTTP/1.1~Host: a\\rX: b~~                                       | 400
            POST /v2 HTTP/1.1~Host: a~\\n                                            | 400
            POST /v2 HTTP/1.1~~                                                      | 400
            POST /v2 HTTP/1.1~Host: a~Host: a~~                                      | 400
            POST /v2 HTTP/1.1~Host: a~Host: b~~                                      | 400
            POST http://b/v2 HTTP/1.1~Host: a~~                                      | 400
            POST /v2 HTTP/1.1~ Host: a~~                                             | 400
            POST /v2 HTTP/1.1~Host: a~X: b~ c~~                                      | 400
            POST /v2 HTTP/1.1~Host: a~X: b~\\tc~~                                    | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding:~ chunked~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~X : b~~                                        | 400
            POST /v2 HTTP/1.1~Host: a~X\\t: b~~                                      | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding : chunked~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~: b~~                                          | 400
            POST /v2 HTTP/1.1~Host: a~X~~                                            | 400
            POST /v2 HTTP/1.1~Host: a~X Y: b~~                                       | 400
            POST /v2 HTTP/1.1~Host: a~X\\x00: b~~                                    | 400
            POST /v2 HTTP/1.1~Host: a~X(: b~~                                        | 400
            POST /v2 HTTP/1.1~Host: a~X\\xe9: b~~                                    | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\x00c~~                                   | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\x01c~~                                   | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\x0bc~~                                   | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\x7fc~~                                   | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~Transfer-Encoding: chunked~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~Content-Length: 2~~ab        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~Content-Length: 3~~ab        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2, 2~~ab                       | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: +2~~ab                         | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: -2~~ab                         | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 0x2~~ab                        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2 2~~ab                        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2.0~~ab                        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length:~~ab                            | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 99999999999999999999~~ab       | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: gzip~~                      | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: gzip, chunked~~0~~          | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked, chunked~~0~~       | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked;x~~0~~              | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: xchunked~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: identity~~                  | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding:~~                           | 400
            POST /v2 HTTP/1.0~Host: a~Transfer-Encoding: chunked~~0~~                | 400
            POST /v2 HTTP/1.0~Host: a~Transfer-Encoding: chunked~Content-Length: 5~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked~Content-Length: 5~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked~content-length: 0~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked, identity~~0~~      | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: identity, chunked~~0~~      | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: identity~Transfer-Encoding: chunked~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked~Transfer-Encoding: identity~~0~~ | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: ,chunked~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked,~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: "chunked"~~0~~              | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: \\x0bchunked~~0~~            | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked\\x00~~0~~            | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chun ked~~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding\\x0b: chunked~~0~~            | 400
            POST /v2 HTTP/1.1~Host: a~\\x00Transfer-Encoding: chunked~~0~~            | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: chunked\\n~0~~               | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\nTransfer-Encoding: chunked~~0~~          | 400
            POST /v2 HTTP/1.1~Host: a~X: b\\rContent-Length: 5~~                      | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~CONTENT-LENGTH: 2~~ab        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2,~~ab                         | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2;~~ab                         | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: \\x0b2~~ab                      | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2\\xa0~~ab                      | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2e0~~ab                        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 1_0~~ab                        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 9223372036854775808~~ab        | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length : 2~~ab                         | 400
            POST /v2 HTTP/1.1~Host: a~Host : b~~                                     | 400
            POST /v2 HTTP/1.1~Host: a b~~                                            | 400
            POST /v2 HTTP/1.1~Host: u@a~~                                            | 400
            POST http:///v2 HTTP/1.1~Host: a~~                                       | 400
            POST /v2 HTTP/1.1~Host: a~Expect: 200-ok~~                               | 417
            POST /v2 HTTP/1.1~Host: a~Expect: 100-continue, x~~                      | 417
            POST /v2 HTTP/1.1~Host: a~Expect: 100-continue~Expect: x~~               | 417
            /v2 HTTP/1.1~Host: a~~                                                   | 400
            POST/v2 HTTP/1.1~Host: a~~                                               | 400
            POST /v2HTTP/1.1~Host: a~~                                               | 400
            POST /v2 HTTP/1.1\\x00~Host: a~~                                          | 400
            POST /v2\\rX HTTP/1.1~Host: a~~                                           | 400
            POST /v2 HTTP/1.1\\r~Host: a~~                                            | 400
            """)
    void head_ambiguous_isRefused(String payload, int status) {
        refused(payload, status);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            +1~a~0~~
            -1~a~0~~
            0x1~a~0~~
            ` 1~a~0~~`
            1 ~a~0~~
            1\\t~a~0~~
            1\\x0b~a~0~~
            ~a~0~~
            ;x~a~0~~
            g~a~0~~
            1_0~a~0~~
            80000000~a~0~~
            100000001~a~0~~
            ffffffffffffffff~a~0~~
            00000000000000001~a~0~~
            1\\na~0~~
            1\\ra~0~~
            1~a\\n0~~
            1~a\\r0~~
            1~ab~0~~
            1~a0~~
            1~aXX0~~
            2~a~0~~
            1;x="y"~a~0~~
            1;x="~~"~a~0~~
            1;x=\\x00~a~0~~
            1;x=\\x7f~a~0~~
            1;x\\r=y~a~0~~
            1;x\\ny~a~0~~
            1~a~0~Content-Length: 5~~
            1~a~0~Transfer-Encoding: chunked~~
            1~a~0~TRANSFER-ENCODING: chunked~~
            1~a~0~Host: b~~
            1~a~0~Authorization: b~~
            1~a~0~Connection: close~~
            1~a~0~Inference-Header-Content-Length: 1~~
            1~a~0~X: b~ c~~
            1~a~0~ X: b~~
            1~a~0~X : b~~
            1~a~0~: b~~
            1~a~0~X~~
            1~a~0~X: b\\x00~~
            1~a~0\\n~
            1~a~0~\\n
            """)
    void chunks_ambiguous_areRefused(String chunks) {
        refused(CHUNKED + chunks, 400);
    }

    @ParameterizedTest
    @CsvSource({"257, 400", "65536, 400"})
    void chunkExtension_long_isRefused(int length, int status) {
        byte[] bytes = bytes(CHUNKED + "1;" + "x".repeat(length) + "~a~0~~" + SMUGGLED);
        try (SplitConnection connection = new SplitConnection()) {
            check(connection.receive(bytes, bytes.length), status);
        }
    }

    /** Anything other than HTTP, such as an invalid HTTP/2 preface: its sender would not understand a response. */
    @ParameterizedTest
    @CsvSource({"INVALID CONNECTION PREFACE~~", "POST /v2 FTP/1.1~~", "POST /v2 http/1.1~~"})
    void notHttp_isClosedWithoutAResponse(String payload) {
        byte[] bytes = bytes(payload + SMUGGLED);
        for (int split = 1; split <= bytes.length; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                connection.receive(bytes, split, bytes.length);
                assertThat(connection.sent()).isEmpty();
                assertThat(connection.isOpen()).isFalse();
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            POST /v2/models/m/infer HTTP/1.1~Host: a~Content-Length: 1~~a
            ~POST /v2/models/m/infer HTTP/1.1~Host: a~Content-Length: 1~~a
            POST /v2/models/m/infer HTTP/1.1~host:a~X:~Y:  \\tb \\t~content-length:\\t1~~a
            POST /v2/models/m/infer HTTP/1.1~Host: a~X: b\\tc\\xe9~Content-Length: 1~~a
            POST /v2/models/m/infer HTTP/1.1~Host: a~Content-Length: 01~~a
            POST http://A/v2/models/m/infer HTTP/1.1~Host: a:80~Content-Length: 1~~a
            POST /v2/models/m/infer HTTP/1.1~Host: a~Transfer-Encoding: chunked~~1~a~0~~
            POST /v2/models/m/infer HTTP/1.1~Host: a~Transfer-Encoding: Chunked~~01~a~000~~
            POST /v2/models/m/infer HTTP/1.1~Host: a~Transfer-Encoding: chunked~~1;x=y;z~a~0;x~~
            POST /v2/models/m/infer HTTP/1.1~Host: a~Transfer-Encoding: chunked~~1~a~0~X-Checksum: b~Y:~~
            """)
    void request_asItMustBe_isServed_andTheNextOneToo(String payload) {
        byte[] bytes = bytes(payload + POST + "Content-Length: 1~~b");
        for (int split = 1; split <= bytes.length; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                String sent = text(connection.receive(bytes, split, bytes.length));
                assertThat(sent.split("HTTP/1.1 200", -1))
                        .as("split at " + split)
                        .hasSize(3);
                assertThat(sent).contains("\r\n\r\naHTTP").endsWith("\r\n\r\nb");
            }
        }
    }

    /** Messages that are unusual, with one meaning only. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            OPTIONS * HTTP/1.1~Host: a~~                                             | 404
            CONNECT a:80 HTTP/1.1~Host: a:80~~                                       | 404
            GET a HTTP/1.1~Host: a~~                                                 | 404
            GET http://a HTTP/1.1~Host: a~~                                          | 404
            GET /v2/models/m/infer HTTP/1.1~Host: a~Content-Length: 2~~ab            | 405
            get /v2/models/m/infer HTTP/1.1~Host: a~~                                | 405
            BREW /v2/models/m/infer HTTP/1.1~Host: a~~                               | 405
            POST /v2/nope HTTP/1.1~Host: a~Content-Length: 3~~abc                    | 404
            POST /v2/nope HTTP/1.1~Host: a~Transfer-Encoding: chunked~~3~abc~0~~     | 404
            POST /v2/models/m/infer HTTP/1.1~Host: a~Connection: Upgrade~Upgrade: websocket~~ | 200
            POST /v2/models/m/infer HTTP/1.1~Host: a~Connection: Upgrade, HTTP2-Settings~Upgrade: h2c~HTTP2-Settings: AAMA~~ | 200
            POST /v2/models/m/infer HTTP/1.1~Host: a~TE: trailers, chunked~~         | 200
            POST /v2/models/m/infer HTTP/1.1~Host: a~Content_Length: 9~Transfer_Encoding: chunked~~ | 200
            POST /v2/models/m/infer HTTP/1.1~Host:~~                                 | 200
            POST /v2/models/m/infer HTTP/1.1~Host: a~Content-Length: 00~~            | 200
            POST /v2/models/m/infer HTTP/1.1~Host: a~Transfer-Encoding: chunked~~0~~ | 200
            POST /v2/models/m/infer HTTP/1.0~Connection: keep-alive~~                | 200
            POST /inference.GRPCInferenceService/ModelInfer HTTP/1.1~Host: a~Content-Type: application/grpc~~ | 415
            POST /inference.GRPCInferenceService/ServerLive HTTP/1.1~Host: a~Content-Type: application/json~Connect-Protocol-Version: 1~~ | 415
            POST /inference.GRPCInferenceService/NoMethod HTTP/1.1~Host: a~~         | 404
            POST /v2/models/m/infer HTTP/1.0~Connection: x, Keep-Alive~Content-Length: 0~~ | 200
            """)
    void request_unusual_isServed_andTheNextOneToo(String payload, int status) {
        byte[] bytes = bytes(payload + POST + "Content-Length: 1~~b");
        for (int split = 1; split <= bytes.length; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                String sent = text(connection.receive(bytes, split, bytes.length));
                assertThat(sent).as("split at " + split).startsWith("HTTP/1.1 " + status + " ");
                assertThat(sent.split("HTTP/1.1 \\d", -1)).hasSize(3);
                assertThat(sent).endsWith("\r\n\r\nb");
                assertThat(connection.isOpen()).isTrue();
            }
        }
    }

    /** A client of HTTP/1.0 that is not told waits for the end of the connection. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            GET /livez HTTP/1.0~Connection: Keep-Alive~~                             | keep-alive
            POST /v2/models/m/infer HTTP/1.0~Connection: Keep-Alive~Content-Length: 0~~ | keep-alive
            GET /v2/nope HTTP/1.0~Connection: keep-alive~~                           | keep-alive
            GET /v2/nope HTTP/1.0~~                                                  | close
            GET /v2/nope HTTP/1.1~Host: a~Connection: close~~                        | close
            """)
    void connection_isSaidToBeKept_orClosed(String payload, String said) {
        try (SplitConnection connection = new SplitConnection()) {
            byte[] bytes = bytes(payload);
            assertThat(text(connection.receive(bytes, bytes.length)))
                    .containsIgnoringCase("\r\nconnection: " + said + "\r\n");
            assertThat(connection.isOpen()).isEqualTo(said.equals("keep-alive"));
        }
    }

    /** The last request of a connection: what follows it is no request. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            POST /v2/models/m/infer HTTP/1.0~~
            POST /v2/models/m/infer HTTP/1.0~Host: a~Connection: close~~
            POST /v2/models/m/infer HTTP/1.0~Connection: close, keep-alive~~
            POST /v2/models/m/infer HTTP/1.1~Host: a~Connection: close~~
            POST /v2/models/m/infer HTTP/1.1~Host: a~Connection: x~Connection: keep-alive, CLOSE~~
            """)
    void request_thatIsTheLast_isServed_andTheNextOneIsNot(String payload) {
        byte[] bytes = bytes(payload + SMUGGLED);
        for (int split = 1; split <= bytes.length; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                String sent = text(connection.receive(bytes, split, bytes.length));
                assertThat(sent).startsWith("HTTP/1.1 200 ").doesNotContain("smuggled");
                assertThat(sent.split("HTTP/1.1 \\d", -1)).hasSize(2);
                assertThat(connection.isOpen()).isFalse();
            }
        }
    }

    private static void refused(String payload, int status) {
        byte[] bytes = bytes(payload + SMUGGLED);
        for (int split = 1; split <= bytes.length; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                check(connection.receive(bytes, split, bytes.length), status);
            }
        }
        try (SplitConnection connection = new SplitConnection()) {
            check(connection.receive(bytes, 1), status);
        }
    }

    private static void check(SplitConnection connection, int status) {
        String sent = text(connection);
        assertThat(sent)
                .startsWith("HTTP/1.1 " + status + " ")
                .containsIgnoringCase("\r\nconnection: close\r\n")
                .contains("{\"error\":\"")
                .doesNotContain("HTTP/1.1 200", "smuggled");
        assertThat(sent.split("HTTP/1.1 \\d", -1)).hasSize(2);
        assertThat(connection.isOpen()).isFalse();
    }

    private static String text(SplitConnection connection) {
        return new String(connection.sent(), StandardCharsets.ISO_8859_1);
    }

    private static byte[] bytes(String payload) {
        return MessageTexts.bytes(payload);
    }
}

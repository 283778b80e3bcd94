package dev.isthmus.transcoder.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonCheckTest {
    private static final WireLimits LIMITS = WireLimits.DEFAULT;

    private static void check(JsonCheck check, byte[] body, int part) {
        ByteBuf content = Unpooled.wrappedBuffer(body);
        for (int at = 0; at < body.length; at += part) {
            check.feed(content.slice(at, Math.min(part, body.length - at)));
        }
        check.finish();
    }

    private static void check(String body) {
        check(JsonCheck.passed(LIMITS), body.getBytes(StandardCharsets.UTF_8), 1000);
    }

    private static void expectRefused(byte[] body, String message) {
        for (int part : new int[] {1, 3, body.length + 1}) {
            assertThatThrownBy(() -> check(JsonCheck.passed(LIMITS), body, part))
                    .isInstanceOfSatisfying(
                            OipException.class,
                            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                    .hasMessageContaining(message);
        }
    }

    private static void expectRefused(String body, String message) {
        expectRefused(body.getBytes(StandardCharsets.UTF_8), message);
    }

    @Test
    void stringThatHasNotEnded_isHeld() {
        JsonCheck check = JsonCheck.passed(LIMITS);
        check.feed(Unpooled.wrappedBuffer(("{\"a\":\"" + "x".repeat(1 << 20)).getBytes(StandardCharsets.US_ASCII)));
        assertThat(check.held()).isBetween((1L << 20) - 16_384, (2L << 20) + 16_384);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                " {\"a\" : [1, -2.5e3, true, false, null, \"x\\u00fc\\ud83d\\ude00\", {\"a\":{}}]}\r\n",
                "{\"a\":{\"b\":1},\"b\":[{\"b\":1},{\"b\":2}]}",
                "{\"\u00fc\u20ac\":\"\ud83d\ude00\"}"
            })
    void object_isTaken_howeverItIsCut(String body) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        for (int part = 1; part <= bytes.length; part++) {
            check(JsonCheck.passed(LIMITS), bytes, part);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            x                            | malformed JSON
            {                            | is incomplete
            {} x                         | the document is followed by more data
            {}{}                         | the document is followed by more data
            []                           | an object is expected
            "text"                       | an object is expected
            1                            | an object is expected
            {"a":1,}                     | name is expected
            {"a":01}                     | malformed JSON
            {"a":NaN}                    | got NaN
            {"a":[-Infinity]}            | got -Infinity
            {"a":"\\ud800"}              | an unpaired surrogate
            {"\\udc00":1}                | an unpaired surrogate
            {"a":"\\x"}                  | unknown escape
            {"a":1,"a":2}                | key 'a' is given twice
            {"b":{"a":1,"\\u0061":2}}    | key 'a' is given twice
            """)
    void otherThanOneObject_isRefused(String body, String message) {
        expectRefused(body, message);
    }

    /** Encoded surrogates, an overlong slash, a byte order mark, UTF-16, bytes that are not UTF-8. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "7b2261223a22eda080227d",
                "7b22eda080223a317d",
                "7b2261223a22c0af227d",
                "efbbbf7b7d",
                "fffe7b007d00",
                "7b007d00",
                "007b007d",
                "7b2261223a22ff227d"
            })
    void otherThanUtf8_isRefused(String hex) {
        expectRefused(HexFormat.of().parseHex(hex), "");
    }

    @Test
    void nothing_isTaken_whereABodyIsOptional() {
        byte[] nothing = {};
        assertThatCode(() -> check(JsonCheck.optional(LIMITS), nothing, 1)).doesNotThrowAnyException();
        expectRefused("", "is incomplete");
        expectRefused(" ", "is incomplete");
    }

    @Test
    void limits_ofInferences_hold() {
        check("{\"a\":" + "[".repeat(63) + "]".repeat(63) + "}");
        expectRefused("{\"a\":" + "[".repeat(250_000), "at most 64 levels");
        expectRefused("{\"" + "n".repeat(257) + "\":1}", "more than 256 bytes");
        expectRefused("{\"a\":" + "1".repeat(LIMITS.numberLength() + 1) + "}", "a number has more than");
        WireLimits small = LIMITS.withBodyBytes(10);
        byte[] eleven = "{\"a\":\"12345678901\"}".getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> check(JsonCheck.passed(small), eleven, 5)).hasMessageContaining("more than 10 bytes");
    }

    @Test
    void members_areLimited_asLongAsTheirObjectIsOpen() {
        String maxMembers = members(OpenObjects.MAX_MEMBERS - 2);
        check("{\"a\":" + maxMembers + "}");
        check("{\"a\":" + maxMembers + ",\"b\":" + maxMembers + "}");
        assertThatThrownBy(() -> check(members(OpenObjects.MAX_MEMBERS + 1)))
                .hasMessageContaining("members are accepted");
    }

    private static String members(int count) {
        return IntStream.range(0, count).mapToObj(i -> "\"" + i + "\":1").collect(Collectors.joining(",", "{", "}"));
    }

    @Test
    void values_areLimited_whereATreeIsMadeOfThem() {
        String many = "{\"a\":[" + "0,".repeat(OpenObjects.MAX_MEMBERS) + "0]}";
        check(many);
        assertThatThrownBy(() -> check(JsonCheck.optional(LIMITS), many.getBytes(StandardCharsets.UTF_8), 1000))
                .hasMessageContaining("at most 65536 values and names are accepted");
    }
}

package dev.isthmus.transcoder.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTokenizerTest {
    private static final String DOCUMENT = "[1,{\"a\\n\":\"b\"},[[]],true]";

    private static void feed(JsonTokenizer json, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        json.feed(Unpooled.wrappedBuffer(bytes), 0, bytes.length);
    }

    private static String tokens(JsonTokenizer json) {
        StringBuilder tokens = new StringBuilder();
        JsonToken token = json.next();
        for (; token != JsonToken.END && token != JsonToken.NEED_MORE; token = json.next()) {
            tokens.append(token.name())
                    .append(token == JsonToken.KEY ? json.text() : "")
                    .append(' ');
        }
        return tokens.append(token.name()).toString();
    }

    /** Wherever a document ends, and however it fails: the next one of the thread is read as the first one was. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"a\":[{\"b\":\"c\\",
                "{\"long\":\"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4",
                "[-12345678901234",
                "{\"a\":1}",
                "[tru",
                "[1,]",
                "}",
                ""
            })
    void document_hasNothingOfTheOneBefore(String before) {
        JsonTokenizer first = JsonTokenizer.of(WireLimits.DEFAULT.withBodyBytes(100));
        feed(first, before);
        try {
            tokens(first);
        } catch (JsonException malformed) {
            assertThat(malformed).hasMessageContaining("malformed");
        }
        first.release();

        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        assertThat(json).isSameAs(first);
        feed(json, DOCUMENT);
        assertThat(tokens(json))
                .isEqualTo("START_ARRAY NUMBER START_OBJECT KEYa\n STRING END_OBJECT START_ARRAY START_ARRAY"
                        + " END_ARRAY END_ARRAY TRUE END_ARRAY END");
        json.release();
    }

    @Test
    void tokenizer_isThatOfOneDocumentAtATime() {
        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        assertThat(JsonTokenizer.of(WireLimits.DEFAULT)).isNotSameAs(json);
    }

    @Test
    void window_thatIsLarge_isNotKept() {
        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(json, "\"" + "x".repeat(2_000));
        assertThat(json.window().length).isGreaterThan(2_000);
        json.release();
        assertThat(JsonTokenizer.of(WireLimits.DEFAULT).window()).isEmpty();
    }

    @Test
    void arrays_areNestedAsDeeplyAsTheLimitSays() {
        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(json, "[".repeat(64) + "]".repeat(64));
        assertThat(tokens(json)).endsWith(" END");
        JsonTokenizer mixed = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(mixed, "[{\"a\":".repeat(32) + "1" + "}]".repeat(32));
        assertThat(tokens(mixed)).endsWith("END_OBJECT END_ARRAY END");
        JsonTokenizer deeper = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(deeper, "[".repeat(65));
        assertThatThrownBy(() -> tokens(deeper)).hasMessageContaining("at most 64 levels are accepted");
    }
}

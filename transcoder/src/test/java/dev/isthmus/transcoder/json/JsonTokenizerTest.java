package dev.isthmus.transcoder.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.Unpooled;
import java.lang.management.ManagementFactory;
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

    /** The four bytes of a character may be on both sides of a step. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 1022, 1023, 1024, 5000})
    void string_isUtf8WhereverItsCharactersBegin(int before) {
        String text = "x".repeat(before) + "\u20ac\ud83d\ude00".repeat(800);
        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(json, "\"" + text + "\"");
        assertThat(json.next()).isEqualTo(JsonToken.STRING);
        assertThat(StandardCharsets.UTF_8.decode(json.utf8()).toString()).isEqualTo(text);
        byte[] cut = ("\"" + text).getBytes(StandardCharsets.UTF_8);
        cut[cut.length - 1] = '"';
        JsonTokenizer other = JsonTokenizer.of(WireLimits.DEFAULT);
        other.feed(Unpooled.wrappedBuffer(cut), 0, cut.length);
        assertThat(other.next()).isEqualTo(JsonToken.STRING);
        assertThatThrownBy(other::utf8).hasMessageContaining("a string is not UTF-8");
    }

    @Test
    void string_isCheckedWithoutACopy() {
        JsonTokenizer json = JsonTokenizer.of(WireLimits.DEFAULT);
        feed(json, "\"" + "\u00e4".repeat(1_000_000) + "\"");
        json.next();
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        json.utf8();
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(100_000);
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

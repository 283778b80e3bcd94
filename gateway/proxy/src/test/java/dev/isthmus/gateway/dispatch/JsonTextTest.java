package dev.isthmus.gateway.dispatch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.dispatch.JsonText.JsonReadMode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTextTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final ServerFeatures MLSERVER = new ServerFeatures(Wire.REST, Dialect.MLSERVER, false, false);
    private static final JsonReadMode SKIM = new JsonReadMode(true, true, false, List.of(MLSERVER));
    private static final JsonReadMode FULL = new JsonReadMode(true, true, false, List.of());
    private static final String FLOATS =
            "{\"id\":\"a\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,3],\"data\":[1,2.5, 3,4,5,6]}]}";

    private static JsonText text(JsonReadMode reading) {
        return new JsonText(ALLOCATOR, ModelRef.of("m"), RestBody.ALL_JSON, reading, WireLimits.DEFAULT);
    }

    private static ByteBuf buffer(String text) {
        byte[] bytes = text.getBytes(UTF_8);
        return ALLOCATOR.directBuffer(bytes.length).writeBytes(bytes);
    }

    private static JsonText ended(JsonReadMode reading, String... parts) {
        JsonText text = text(reading);
        try {
            for (String part : parts) {
                text.add(buffer(part));
            }
            text.end();
            return text;
        } catch (RuntimeException e) {
            text.release();
            throw e;
        }
    }

    private static boolean hasData(RestRequest request) {
        return request.request().inputs().get(0).data().isReadable();
    }

    private static String kept(JsonText text) {
        ByteBuf kept = text.text();
        return kept == null ? "" : kept.toString(UTF_8);
    }

    private static @Nullable String failure(JsonReadMode reading, String... parts) {
        OipException failure = catchThrowableOfType(
                OipException.class, () -> ended(reading, parts).release());
        return failure == null ? null : failure.message();
    }

    @Test
    void text_isKeptAndItsNumbersNotRead() {
        JsonText text = ended(SKIM, FLOATS);
        assertThat(kept(text)).isEqualTo(FLOATS);
        assertThat(text.request().request().id()).isEqualTo("a");
        assertThat(hasData(text.request())).isFalse();
        text.release();
    }

    @Test
    void text_thatIsNotSkimmed_isRead() {
        JsonText text = ended(FULL, FLOATS);
        assertThat(hasData(text.request())).isTrue();
        assertThat(kept(text)).isEqualTo(FLOATS);
        text.release();
    }

    @Test
    void inFull_readsTheNumbers() {
        JsonText text = ended(SKIM, FLOATS);
        assertThat(hasData(text.inFull())).isTrue();
        assertThat(text.request()).isSameAs(text.inFull());
        assertThat(kept(text)).isEqualTo(FLOATS);
        text.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"1..", "01", "1-2", ".5", "1e", "-"})
    void badNumber_failsAsWhenReadInFull(String number) {
        String bad = FLOATS.replace("2.5", number);
        assertThat(failure(SKIM, bad)).isNotNull().isEqualTo(failure(FULL, bad));
    }

    @ParameterizedTest
    @ValueSource(strings = {"NaN", "null", "\"Infinity\""})
    void data_ofMoreThanNumbers_isRead_whereverItIsCut(String element) {
        String other = FLOATS.replace("2.5", element);
        for (int cut = 0; cut <= other.length(); cut++) {
            JsonText text = ended(SKIM, other.substring(0, cut), other.substring(cut));
            assertThat(text.request().contestedInputs()).isTrue();
            assertThat(hasData(text.request())).isTrue();
            assertThat(kept(text)).isEqualTo(other);
            text.release();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"id\":\"a b\",",
                "{\"id\":null,\"outputs\":[{\"name\":\"o\",\"parameters\":{\"binary_data\":true}}],",
                "{\"outputs\":[{\"name\":\"o\",\"parameters\":{\"content_type\":\"base64\"}}],",
                "{\"outputs\":[{\"name\":\"o\",\"parameters\":{\"binary_data\":true}}],",
            })
    void request_thatCannotGoAsItCame_isReadAsSoonAsItIsComplete(String head) {
        String other = head + FLOATS.substring(FLOATS.indexOf("\"inputs\""));
        for (int cut = 0; cut <= other.length(); cut++) {
            JsonText text = ended(SKIM, other.substring(0, cut), other.substring(cut));
            assertThat(hasData(text.request())).isTrue();
            text.release();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "{}", "x"})
    void document_thatIsNone_failsAsWhenReadInFull(String document) {
        assertThat(failure(SKIM, document)).isNotNull().isEqualTo(failure(FULL, document));
    }

    @Test
    void document_thatEndsEarly_failsAsWhenReadInFull() {
        for (int length = 0; length < FLOATS.length(); length++) {
            String part = FLOATS.substring(0, length);
            assertThat(failure(SKIM, part)).isNotNull().isEqualTo(failure(FULL, part));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"[2,2]", "[7]", "[-1]", "[1,2,3]]", "\"a\"", "[1e400]", "[9999999999,9999999999]"})
    void shape_thatDoesNotFit_failsAsWhenReadInFull(String shape) {
        String other = FLOATS.replace("[2,3]", shape);
        assertThat(failure(SKIM, other)).isNotNull().isEqualTo(failure(FULL, other));
    }

    @ParameterizedTest
    @ValueSource(strings = {" ", "\n", "\r\n\t ", ""})
    void space_behindTheDocument_isTaken(String space) {
        JsonText text = ended(SKIM, FLOATS, space, space);
        assertThat(kept(text)).isEqualTo(FLOATS + space + space);
        assertThat(hasData(text.request())).isNotEqualTo(space.isEmpty());
        text.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "{}", " ]", "\0"})
    void anythingBehindTheDocument_failsAsWhenReadInFull(String more) {
        assertThat(failure(SKIM, FLOATS, more)).isNotNull().isEqualTo(failure(FULL, FLOATS, more));
        assertThat(failure(SKIM, FLOATS + more)).isNotNull().isEqualTo(failure(FULL, FLOATS + more));
    }

    @Test
    void held_isTheText_untilItIsReadInFull() {
        JsonText text = text(SKIM);
        String head = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP64\",\"shape\":[100000],\"data\":[1.5";
        String numbers = ",0.25".repeat(50_000);
        text.add(buffer(head));
        text.add(buffer(numbers));
        assertThat(text.held()).isEqualTo(head.length() + numbers.length());
        text.add(buffer(",NaN,"));
        assertThat(text.held()).isGreaterThan(head.length() + numbers.length() + 400_000L);
        text.release();
        assertThat(text.held()).isZero();
    }

    /** A text that was altered anywhere fails in the same way, except for numbers. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void changedAnywhere_itBecomesTheSame_butForNumbers(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        String marks = "[]{}\",:-+.019eE \nxnNt";
        for (int round = 0; round < 4_000; round++) {
            StringBuilder changed = new StringBuilder(FLOATS);
            for (int change = 1 + random.nextInt(2); change > 0; change--) {
                changed.setCharAt(random.nextInt(changed.length()), marks.charAt(random.nextInt(marks.length())));
            }
            String other = changed.toString();
            int cut = random.nextInt(other.length());
            String mine = failure(SKIM, other.substring(0, cut), other.substring(cut));
            String whole = failure(FULL, other.substring(0, cut), other.substring(cut));
            if (mine == null && whole != null) {
                int data = other.indexOf(":[", other.indexOf("shape") + 9);
                assertThat(other.substring(data)).as(whole).matches("(?s):\\[[-+.0-9eE, \\n]*].*");
                assertThat(whole).containsAnyOf("is not a number", "a digit is expected", "a value", "FP32");
            } else {
                assertThat(mine).as(other).isEqualTo(whole);
            }
        }
    }
}

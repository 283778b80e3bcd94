package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestSplice;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RestSpliceTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final String ALL_KINDS = """
            { "id" : "model_name", "parameters" : {"model_name":"p","a":[1,{"model_name":null}],"b":"}\\""},
              "outputs":[{"name":"model_name","data":[1.5,NaN,"model_name\\\\",[]],"x":{}}], "n":-1e3 ,"t":true,
              "model_name" : %s , "model_version":"3", "model_name_":"x" } \n""";

    private static ByteBuf part(String text) {
        return ALLOCATOR.buffer(text.length() + 1).writeZero(1).skipBytes(1).writeBytes(text.getBytes(UTF_8));
    }

    /** The body as text, preceded by the length of its JSON if that is announced. */
    private static String text(RestBody taken) {
        String text = new String(ByteBufUtil.getBytes(taken.content()), UTF_8);
        taken.release();
        return taken.binary() ? taken.jsonLength() + ":" + text : text;
    }

    private static String spliced(String json, String name) {
        return text(RestSplice.modelName(ALLOCATOR, new RestBody(part(json), RestBody.ALL_JSON), name));
    }

    @Test
    void name_isReplacedAndAllElseStaysByteForByte() {
        assertThat(spliced(ALL_KINDS.formatted("\"m\""), "other")).isEqualTo(ALL_KINDS.formatted("\"other\""));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"\"",
                "\"m\\\"}\"",
                "\"\\\\\"",
                "null",
                "12",
                "true",
                "[]",
                "{\"model_name\":[\"]\"]}",
                "\"\\u00e9\""
            })
    void value_ofAnyKind_isReplaced(String value) {
        assertThat(spliced(ALL_KINDS.formatted(value), "o")).isEqualTo(ALL_KINDS.formatted("\"o\""));
        assertThat(spliced("{\"model_name\":" + value + "}", "o")).isEqualTo("{\"model_name\":\"o\"}");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                " [] ",
                "",
                " ",
                "3",
                "\"model_name\"",
                "[{\"model_name\":\"m\"}]",
                "{\"Model_name\":\"m\"}",
                "{\"model_nam\":\"m\",\"model_names\":\"m\",\"\":\"m\"}",
                "{\"parameters\":{\"model_name\":\"m\"}}",
                "{\"id\":\"model_name\"}",
                "{\"id\":\"\\\"model_name\\\":\\\"m\\\"\"}",
                "{\"\\q234567890\":1}",
                "{\"\\u00zz234567890\":1}"
            })
    void noSuchMember_leavesTheBodyAsItIs(String json) {
        RestBody body = new RestBody(part(json), RestBody.ALL_JSON);
        RestBody spliced = RestSplice.modelName(ALLOCATOR, body, "other");
        assertThat(spliced).isSameAs(body);
        assertThat(text(spliced)).isEqualTo(json);
    }

    @Test
    void json_cutOffAnywhereBeforeTheValueEnds_isLeftAsItIs() {
        String json = ALL_KINDS.formatted("\"m\"");
        for (int length = 0; length < json.indexOf("\"m\"") + 3; length++) {
            String cut = json.substring(0, length);
            assertThat(spliced(cut, "other")).isEqualTo(cut);
        }
        assertThat(spliced("{\"model_name\":12", "other")).isEqualTo("{\"model_name\":12");
        assertThat(spliced("{\"model_name\":}", "other")).isEqualTo("{\"model_name\":}");
        assertThat(spliced("{\"model_name\" \"m\"}", "other")).isEqualTo("{\"model_name\" \"m\"}");
        assertThat(spliced("{\"a\":1 \"model_name\":\"m\"}", "other")).isEqualTo("{\"a\":1 \"model_name\":\"m\"}");
    }

    @ParameterizedTest
    @CsvSource({"model\\u005fname", "\\u006dodel_name", "model_nam\\u0065", "\\u006D\\u006F\\u0064\\u0065\\u006C_name"})
    void key_withEscapes_isFound(String key) {
        assertThat(spliced("{\"" + key + "\":\"m\"}", "o")).isEqualTo("{\"" + key + "\":\"o\"}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "plain", "q\"b\\s/", "\b\t\n\f\r\u0000\u001f\u007f", "\u00e9\u20ac\ud83d\ude00\u2028"})
    void name_isEscaped(String name) throws Exception {
        String json = spliced("{\"model_name\":\"m\",\"id\":\"\u00e9\"}", name);
        JsonNode read = new ObjectMapper().readTree(json);
        assertThat(read.size()).isEqualTo(2);
        assertThat(read.get("model_name").textValue()).isEqualTo(name);
        assertThat(read.get("id").textValue()).isEqualTo("\u00e9");
    }

    @Test
    void body_inPartsCutAnywhere_isTheSame() {
        String json = ALL_KINDS.formatted("\"m\\\\\"");
        String body = json + "\"model_name\":binary}";
        String expected = ALL_KINDS.formatted("\"other\"");
        for (int cut = 0; cut <= body.length(); cut++) {
            ByteBuf parts = ALLOCATOR
                    .compositeBuffer()
                    .addComponent(true, part(body.substring(0, cut)))
                    .addComponent(true, part(body.substring(cut)));
            assertThat(text(RestSplice.modelName(ALLOCATOR, new RestBody(parts, json.length()), "other")))
                    .isEqualTo(expected.length() + ":" + expected + "\"model_name\":binary}");
        }
        CompositeByteBuf bytes = ALLOCATOR.compositeBuffer(Integer.MAX_VALUE);
        body.chars().forEach(c -> bytes.addComponent(true, part(Character.toString(c))));
        assertThat(text(RestSplice.modelName(ALLOCATOR, new RestBody(bytes, json.length()), "other")))
                .isEqualTo(expected.length() + ":" + expected + "\"model_name\":binary}");
    }

    @Test
    void binaryPart_isNotLookedAt() {
        String body = "{\"a\":1}{\"model_name\":\"m\"}";
        assertThat(text(RestSplice.modelName(ALLOCATOR, new RestBody(part(body), 7), "o")))
                .isEqualTo("7:" + body);
        assertThat(text(RestSplice.modelName(ALLOCATOR, new RestBody(part(body), 0), "o")))
                .isEqualTo("0:" + body);
        String broken = "{\"model_name\":\"mm\"}";
        assertThat(text(RestSplice.modelName(ALLOCATOR, new RestBody(part(broken), 16), "o")))
                .isEqualTo("16:" + broken);
    }

    @Test
    void jsonLength_beyondTheBody_failsAndReleases() {
        ByteBuf content = Unpooled.copiedBuffer("{\"model_name\":\"m\"}", UTF_8);
        assertThatThrownBy(() -> RestSplice.modelName(ALLOCATOR, new RestBody(content, 19), "o"))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER))
                .hasMessageContaining("19")
                .hasMessageContaining("18 bytes");
        assertThat(content.refCnt()).isZero();
    }

    @Test
    void largeParts_areNotCopied() {
        String before = "{\"a\":\"" + "x".repeat(5000) + "\",\"model_name\":";
        ByteBuf content = Unpooled.copiedBuffer(before + "\"m\",\"b\":\"" + "y".repeat(5000) + "\"}", UTF_8);
        RestBody spliced = RestSplice.modelName(ALLOCATOR, new RestBody(content, RestBody.ALL_JSON), "other");
        content.setByte(10, 'z').setByte(content.writerIndex() - 10, 'z');
        assertThat(spliced.content().getByte(10)).isEqualTo((byte) 'z');
        assertThat(spliced.content().getByte(spliced.content().writerIndex() - 10))
                .isEqualTo((byte) 'z');
        spliced.release();
        assertThat(content.refCnt()).isZero();
    }

    @Test
    void bodyOfLargeParts_isMadeOfPartsAgain() {
        CompositeByteBuf parts = ALLOCATOR.compositeBuffer();
        parts.addComponent(true, part("{\"model_name\":\"m\",\"a\":\"" + "x".repeat(5000)));
        parts.addComponent(true, part("y".repeat(5000)));
        parts.addComponent(true, part("\"}"));
        RestBody spliced = RestSplice.modelName(ALLOCATOR, new RestBody(parts, RestBody.ALL_JSON), "other");
        // The head and value, followed by what were three parts.
        assertThat(((CompositeByteBuf) spliced.content()).numComponents()).isEqualTo(4);
        spliced.release();
        assertThat(parts.refCnt()).isZero();
    }

    @Test
    void randomAnswers_areAsIfWrittenWithTheName() {
        RandomMessages messages = new RandomMessages(new SplittableRandom(12));
        for (int i = 0; i < 600; i++) {
            Message message = messages.next();
            String other = messages.next().model().name();
            OutputForms forms = new OutputForms(i % 2 == 0, Map.of(), Set.of(), NonFinite.TOKEN);
            InferResponse first = message.toResponse(ALLOCATOR);
            InferResponse renamed = new InferResponse(
                    new ModelRef(other, first.model().version()),
                    first.id(),
                    first.parameters(),
                    first.retained().outputs());
            RestBody expected = RestWriter.response(ALLOCATOR, renamed, forms);
            RestBody spliced = RestSplice.modelName(ALLOCATOR, RestWriter.response(ALLOCATOR, first, forms), other);
            assertThat(spliced.jsonLength()).isEqualTo(expected.jsonLength());
            assertThat(ByteBufUtil.equals(spliced.content(), expected.content()))
                    .isTrue();
            spliced.release();
            expected.release();
        }
    }
}

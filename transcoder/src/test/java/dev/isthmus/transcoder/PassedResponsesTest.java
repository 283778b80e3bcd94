package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** REST responses that are validated and passed through to REST clients. */
class PassedResponsesTest {
    private static final ResponseForm UNTOUCHED =
            new ResponseForm(Wire.REST, true, OutputForms.JSON, false, Map.of(), null, null);
    private static final String WHOLE = "{\"model_name\":\"m\",\"outputs\":["
            + "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[[1.5,2],[3,-4e-3]]}]}";

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);

    @AfterEach
    void nothingIsHeld() {
        assertThat(allocator.metric().usedDirectMemory()).isZero();
        assertThat(allocator.metric().usedHeapMemory()).isZero();
    }

    private ByteBuf bytes(String text) {
        return allocator.directBuffer().writeBytes(text.getBytes(UTF_8));
    }

    private String passed(RestBody body) {
        var answer =
                new Transcoder(WireLimits.DEFAULT).response(allocator, new InferMessage.RestMessage(body), UNTOUCHED);
        ByteBuf content = ((InferMessage.RestMessage) answer).body().content();
        try {
            return content.toString(UTF_8);
        } finally {
            content.release();
        }
    }

    private void requirePasses(String json) {
        assertThat(passed(new RestBody(bytes(json), RestBody.ALL_JSON))).isEqualTo(json);
    }

    private void requireRefused(String body, long jsonLength) {
        assertThatThrownBy(() -> passed(new RestBody(bytes(body), jsonLength)))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER));
    }

    private static String output(String type, String shape, String data) {
        return "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"" + type + "\",\"shape\":" + shape + ",\"data\":" + data
                + "}]}";
    }

    @Test
    void answers_thatAreWhole_passByteForByte() {
        requirePasses(WHOLE);
        requirePasses(output("FP32", "[3]", "[null,NaN,1e39]"));
        requirePasses(output("INT8", "[2]", "[1,-0]"));
        requirePasses(output("BOOL", "[2]", "[true,false]"));
        requirePasses(output("BYTES", "[2]", "[\"a\",\"\u00e4\"]"));
        requirePasses(output("BYTES", "[2]", "[[1,2],[3]]"));
        requirePasses(output("INT64", "[0]", "[]"));
        requirePasses("{\"outputs\":[]}");
        requirePasses("{\"outputs\":[{\"name\":\"y\",\"data\":[null],\"shape\":[1],\"datatype\":\"FP64\"}]}");
    }

    @Test
    void answer_thatEndsBeforeItsJson_isRefusedWhereverItEnds() {
        for (int length = 0; length < WHOLE.length(); length++) {
            requireRefused(WHOLE.substring(0, length), RestBody.ALL_JSON);
        }
    }

    @Test
    void answerInParts_passes() {
        CompositeByteBuf parts = Unpooled.compositeBuffer();
        for (int i = 0; i < WHOLE.length(); i++) {
            parts.addComponent(true, bytes(WHOLE.substring(i, i + 1)));
        }
        assertThat(passed(new RestBody(parts, RestBody.ALL_JSON))).isEqualTo(WHOLE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "FP32 [3] [1,2]",
                "FP32 [1] [1,2]",
                "FP32 [2,2] [[1,2],[3]]",
                "FP32 [4294967296,4294967296] [1]",
                "FP32 [-1] [1]",
                "INT32 [2] [1,]",
                "INT32 [1] [01]",
                "INT32 [1] 1",
                "INT32 [1] [{}]",
                "BYTES [2] [\"a\"]",
                "BYTES [1] [\"a]",
                "FP31 [1] [1]",
            })
    void answer_whoseDataIsNotWhatItSays_isRefused(String tensor) {
        List<String> parts = List.of(tensor.split(" ", 3));
        requireRefused(output(parts.get(0), parts.get(1), parts.get(2)), RestBody.ALL_JSON);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "null", "[]", "{}", "<html>", "{\"outputs\":[]} {", "{\"outputs\":[],\"outputs\":[]}"})
    void whatIsNoAnswer_isRefused(String body) {
        requireRefused(body, RestBody.ALL_JSON);
    }

    @Test
    void binaryAnswer_isAsLongAsItsTensors() {
        String json = "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT32\",\"shape\":[2],"
                + "\"parameters\":{\"binary_data_size\":8}}]}";
        assertThat(passed(new RestBody(bytes(json + "12345678"), json.length())))
                .isEqualTo(json + "12345678");
        requireRefused(json + "1234567", json.length());
        requireRefused(json + "123456789", json.length());
        requireRefused(json.replace("[2]", "[3]") + "12345678", json.length());
    }

    /** Validates a body in two parts. */
    private void look(String body, int split, long jsonLength) {
        RestResponseReader reader = new Transcoder(WireLimits.DEFAULT).passing(allocator, jsonLength, UNTOUCHED);
        ByteBuf whole = bytes(body);
        try {
            reader.feed(whole.slice(0, split));
            reader.feed(whole.slice(split, whole.readableBytes() - split));
            assertThat(whole.refCnt()).isEqualTo(1);
            reader.end();
        } finally {
            reader.release();
            whole.release();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "FP32 [6] [ 1 ,null,2.5e10, -0 ,-1,  6 ]",
                "FP32 [2,3] [[1,2,3] , [4e9,5,-Infinity]]",
                "FP64 [1,2,2] [ [[1,2] ,[NaN,4]]]",
                "INT8 [3] [12,13,99999999999999999999999999999999999999999999]",
                "FP32 [2,1,1] [[[1]],[[\"inf\"]]]",
                "FP32 [0] [ ]",
            })
    void answer_splitAnywhere_passesAndIsCounted(String tensor) {
        List<String> parts = List.of(tensor.split(" ", 3));
        String right = output(parts.get(0), parts.get(1), parts.get(2));
        String wrong = output(parts.get(0), "[7]", parts.get(2));
        for (int split = 0; split <= right.length(); split++) {
            look(right, split, RestBody.ALL_JSON);
        }
        for (int split = 0; split <= wrong.length(); split++) {
            int at = split;
            assertThatThrownBy(() -> look(wrong, at, RestBody.ALL_JSON)).isInstanceOf(OipException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 499, 500, 501, 4_095, 4_500, 9_998, 9_999})
    void number_thatIsNotSteppedOver_mayComeAnywhere(int place) {
        for (String odd : List.of("null", "1e30", "-0", "-Infinity", "1".repeat(50), " ".repeat(200) + "7")) {
            StringBuilder data = new StringBuilder();
            for (int i = 0; i < 10_000; i++) {
                data.append(i == 0 ? "[[" : i == 5_000 ? "],[" : ",").append(i == place ? odd : Integer.toString(i));
            }
            String right = output("FP32", "[2,5000]", data + "]]");
            look(right, right.length() / 2, RestBody.ALL_JSON);
            for (String broken : List.of("[10001]", "[5000,2]")) {
                String wrong = right.replace("[2,5000]", broken);
                assertThatThrownBy(() -> look(wrong, wrong.length() / 2, RestBody.ALL_JSON))
                        .isInstanceOf(OipException.class);
            }
            String cut = right.substring(0, right.length() - 5);
            assertThatThrownBy(() -> look(cut, cut.length() / 2, RestBody.ALL_JSON))
                    .isInstanceOf(OipException.class);
        }
    }

    @Test
    void binaryBytes_areLookedAtInParts() {
        String json = "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"BYTES\",\"shape\":[2],"
                + "\"parameters\":{\"binary_data_size\":SIZE}}]}";
        String right = json.replace("SIZE", "11") + "\3\0\0\0abc\0\0\0\0";
        int length = json.length() - 2;
        for (int split = 0; split <= right.length(); split++) {
            look(right, split, length);
        }
        for (String wrong : List.of(
                right.replace("[2]", "[3]"),
                right.replace("\3", "\2"),
                right.replace("\3", "\10"),
                json.replace("SIZE", "10") + "\3\0\0\0abc\0\0\0")) {
            for (int split = 0; split <= wrong.length(); split++) {
                int at = split;
                assertThatThrownBy(() -> look(wrong, at, length)).isInstanceOf(OipException.class);
            }
        }
    }
}

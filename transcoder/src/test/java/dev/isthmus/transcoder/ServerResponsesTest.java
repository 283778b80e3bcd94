package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** REST responses of servers that the protocol does not foresee, read as generously as is safe. */
class ServerResponsesTest {
    /** Triton adds the parameters of the sequence once for each output of an ensemble. */
    private static final String ENSEMBLE = "{\"model_name\":\"m\",\"parameters\":{\"sequence_id\":1,\"sequence_end\":"
            + "false,\"sequence_id\":2,\"sequence_end\":true},\"outputs\":["
            + "{\"name\":\"y\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}]}";

    private static final ResponseForm UNTOUCHED =
            new ResponseForm(Wire.REST, true, OutputForms.JSON, false, Map.of(), null, null);

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);

    @AfterEach
    void nothingIsHeld() {
        assertThat(allocator.metric().usedDirectMemory()).isZero();
        assertThat(allocator.metric().usedHeapMemory()).isZero();
    }

    private ByteBuf bytes(String text) {
        return allocator.directBuffer().writeBytes(text.getBytes(UTF_8));
    }

    private String passed(String json) {
        var body = new InferMessage.RestMessage(new RestBody(bytes(json), RestBody.ALL_JSON));
        var answer = new Transcoder(WireLimits.DEFAULT).response(allocator, body, UNTOUCHED);
        ByteBuf content = ((InferMessage.RestMessage) answer).body().content();
        try {
            return content.toString(UTF_8);
        } finally {
            content.release();
        }
    }

    private Map<String, Parameter> parameters(String json, int split) {
        var reader = new RestResponseReader(allocator, RestBody.ALL_JSON, WireLimits.DEFAULT);
        ByteBuf whole = bytes(json);
        try {
            reader.feed(whole.slice(0, split));
            reader.feed(whole.slice(split, whole.readableBytes() - split));
            InferResponse response = reader.finish();
            response.release();
            return response.parameters();
        } finally {
            reader.release();
            whole.release();
        }
    }

    @Test
    void parameterGivenTwice_theLastCounts_asInProtobuf() {
        for (int split = 0; split <= ENSEMBLE.length(); split++) {
            assertThat(parameters(ENSEMBLE, split))
                    .isEqualTo(Map.of("sequence_id", new Parameter.Int64(2), "sequence_end", new Parameter.Bool(true)));
        }
    }

    @Test
    void parameterGivenTwice_lastOfAnotherType_counts() {
        String other = ENSEMBLE.replace("\"sequence_id\":2", "\"sequence_id\":{\"a\":1}");
        assertThat(parameters(other, 0)).containsEntry("sequence_id", new Parameter.Json("{\"a\":1}"));
        assertThat(parameters(ENSEMBLE.replace("\"sequence_id\":1", "\"sequence_id\":[1]"), 0))
                .containsEntry("sequence_id", new Parameter.Int64(2));
    }

    @Test
    void parameterGivenTwice_goesOnAsItCame() {
        assertThat(passed(ENSEMBLE)).isEqualTo(ENSEMBLE);
    }

    private static final String DATA =
            "\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2],%s\"data\":[NaN,1.0]}]";

    /** In the data of tensors, they are the client's to choose. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"model_name\":\"m\",\"parameters\":{\"p\":NaN,\"q\":1},%s}",
                "{\"model_name\":\"m\",\"parameters\":{\"p\":[{\"a\":-Infinity}],\"q\":1},%s}",
                "{\"model_name\":\"m\",\"own\":[Infinity],\"parameters\":{\"q\":1},%s}",
            })
    void wordsOutsideTheData_areLeftOut(String json) {
        String output = DATA.formatted("");
        assertThat(passed(json.formatted(output)))
                .isEqualTo("{\"model_name\":\"m\",\"parameters\":{\"q\":1}," + output + "}");
    }

    @Test
    void wordsInAnOutputsParameters_areLeftOut() {
        String output = DATA.formatted("\"parameters\":{\"p\":NaN,\"q\":true},\"own\":{\"a\":NaN},");
        assertThat(passed("{\"model_name\":\"m\"," + output + "}"))
                .isEqualTo("{\"model_name\":\"m\"," + DATA.formatted("\"parameters\":{\"q\":true},") + "}");
    }

    @Test
    void wordsInTheData_goOnAsTheyCame() {
        String json = "{\"model_name\":\"m\"," + DATA.formatted("\"own\":{\"a\":1,\"a\":2},") + "}";
        assertThat(passed(json)).isEqualTo(json);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"parameters\":{},\"parameters\":{},\"outputs\":[]}",
                "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[1],\"data\":[1]}]}",
                "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[0],\"parameters\":"
                        + "{\"binary_data_size\":0,\"binary_data_size\":0}}]}",
                "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[0],\"data\":[]},"
                        + "{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[0],\"data\":[]}]}",
            })
    void whatSaysTwiceWhereItsDataAre_isRefused(String json) {
        assertThatThrownBy(() -> passed(json)).isInstanceOfSatisfying(OipException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            assertThat(e).hasMessageContaining("is given twice");
        });
    }
}

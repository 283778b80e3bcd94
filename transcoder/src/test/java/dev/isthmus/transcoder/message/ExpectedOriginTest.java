package dev.isthmus.transcoder.message;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpectedOriginTest {
    private static final ExpectedOrigin EXPECTED = new ExpectedOrigin("iris", "7");

    @ParameterizedTest
    @CsvSource({
        "iris, 7, true",
        "'', '', true",
        "IRIS, 7, true",
        "iris_1, 7, true",
        "iris:v1.2, 7, true",
        "iris, 77, false",
        "iris, '7 ', false",
        "iris_x, 7, false",
        "iris1, 7, false",
        "ris, 7, false",
        "iri, 7, false"
    })
    void anotherIdOrModel_isTold(String model, String id, boolean right) {
        assertThat(EXPECTED.violation(new ResponseOrigin(model, id)) == null).isEqualTo(right);
    }

    @Test
    void violation_doesNotNameTheOtherRequest() {
        assertThat(EXPECTED.violation(new ResponseOrigin("iris", "secret")))
                .isEqualTo("sent a response with the id of another request: '7' is expected");
        assertThat(EXPECTED.violation(new ResponseOrigin("secret", "7")))
                .isEqualTo("sent a response of another model: 'iris' is expected");
    }

    @Test
    void request_mayExpectNothing() {
        ResponseOrigin other = new ResponseOrigin("other", "other");
        assertThat(ExpectedOrigin.ANY.violation(other)).isNull();
        // Its code writes the name, and this id is not sent to it.
        assertThat(ExpectedOrigin.of(Dialect.MLSERVER, "iris", "not an id").violation(other))
                .isNull();
        assertThat(ExpectedOrigin.of(Dialect.MLSERVER, "iris", "7").violation(other))
                .contains("id");
        // Its code writes both.
        assertThat(ExpectedOrigin.of(Dialect.KSERVE, "iris", "7").violation(other))
                .isNull();
    }

    @Test
    void protobuf_isReadAsFarAsItGoes() {
        byte[] message = ModelInferResponse.newBuilder()
                .setModelName("iris")
                .setModelVersion("1")
                .setId("7")
                .putParameters(
                        "p", InferParameter.newBuilder().setBoolParam(true).build())
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder().setName("o"))
                .addRawOutputContents(ByteString.copyFromUtf8("data"))
                .build()
                .toByteArray();
        assertThat(ProtobufReader.origin(Unpooled.wrappedBuffer(message))).isEqualTo(new ResponseOrigin("iris", "7"));
        for (int length = 0; length < message.length; length++) {
            ResponseOrigin origin = ProtobufReader.origin(Unpooled.wrappedBuffer(message, 0, length));
            assertThat(EXPECTED.violation(origin)).as("of %s bytes", length).isNull();
        }
    }

    @Test
    void json_isReadAsFarAsItGoes() {
        String json = "{\"model_name\" : \"iris\", \"parameters\":{\"id\":\"no\",\"model_name\":\"no\"},"
                + "\"outputs\":[{\"name\":\"id\",\"data\":[\"id\"]}],\"id\":\"\\u0037\"}";
        assertThat(origin(json)).isEqualTo(new ResponseOrigin("iris", "7"));
        for (int length = 0; length < json.length(); length++) {
            ResponseOrigin origin = origin(json.substring(0, length));
            assertThat(EXPECTED.violation(origin)).as("of %s bytes", length).isNull();
        }
        assertThat(origin("{\"id\":8,\"model_name\":null}")).isEqualTo(new ResponseOrigin("", ""));
        assertThat(origin("{\"id\":\"\\x\"}")).isEqualTo(new ResponseOrigin("", ""));
    }

    /** Servers write the members before their outputs: a large response is not searched. */
    @Test
    void json_isSearchedAtItsBeginning() {
        String json = "{\"outputs\":[" + "0,".repeat(4_000) + "0],\"id\":\"8\"}";
        assertThat(origin(json).id()).isEmpty();
    }

    @Test
    void json_isSearchedForWhatIsExpected() {
        String json = "{\"model_name\":\"iris\",\"id\":\"7\"}";
        assertThat(RestResponseReader.origin(json(json), new ExpectedOrigin("iris", "")))
                .isEqualTo(new ResponseOrigin("iris", ""));
        assertThat(RestResponseReader.origin(json(json), ExpectedOrigin.ANY)).isEqualTo(new ResponseOrigin("", ""));
    }

    /** The name of a member may be written with escapes, in any length. */
    @Test
    void names_areFoundInAnySpelling() {
        assertThat(origin("{\"i\\u0064\":\"7\"}").id()).isEqualTo("7");
        assertThat(origin("{\"\\u0069\\u0064\":\"7\"}").id()).isEqualTo("7");
        assertThat(origin("{\"ie\":\"6\",\"idx\":\"6\",\"\\u00e4\":\"6\",\"i\\x\":\"6\",\"id\":\"7\\n\u00e4\"}")
                        .id())
                .isEqualTo("7\n\u00e4");
    }

    private static ResponseOrigin origin(String text) {
        return RestResponseReader.origin(json(text), EXPECTED);
    }

    private static ByteBuf json(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }
}

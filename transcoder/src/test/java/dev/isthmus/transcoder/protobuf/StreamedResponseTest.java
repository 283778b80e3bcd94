package dev.isthmus.transcoder.protobuf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferResponse;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class StreamedResponseTest {
    private static final String FINAL = "triton_final_response";

    private static StreamedResponse of(ModelInferResponse.Builder response) {
        return StreamedResponse.of(Unpooled.wrappedBuffer(response.build().toByteArray()));
    }

    private static InferParameter bool(boolean value) {
        return InferParameter.newBuilder().setBoolParam(value).build();
    }

    private static ModelInferResponse.Builder response() {
        return ModelInferResponse.newBuilder()
                .setModelName("m")
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder().setName("y"))
                .addRawOutputContents(ByteString.copyFromUtf8("triton_final_response"));
    }

    @Test
    void idAndMark() {
        assertThat(of(response())).isEqualTo(StreamedResponse.UNKNOWN);
        assertThat(of(response().setId("a").putParameters(FINAL, bool(true))))
                .isEqualTo(new StreamedResponse("a", true));
        assertThat(of(response().putParameters(FINAL, bool(false)).putParameters("other", bool(true))))
                .isEqualTo(StreamedResponse.UNKNOWN);
        assertThat(of(response()
                        .putParameters(
                                FINAL,
                                InferParameter.newBuilder()
                                        .setStringParam("true")
                                        .build())))
                .isEqualTo(StreamedResponse.UNKNOWN);
    }

    @Test
    void malformed() {
        assertThatThrownBy(() -> StreamedResponse.of(Unpooled.wrappedBuffer(new byte[] {0x1a, 0x7f})))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("malformed");
    }
}

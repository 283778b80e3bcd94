package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Outputs in shared memory, for which Triton's responses have neither data nor parameters. */
class SharedOutputTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final Map<String, Parameter> REGION =
            Map.of(Tensor.SHARED_MEMORY_REGION, new Parameter.Text("region"));
    private static final ByteString PLAIN = ByteString.copyFrom(new byte[] {7, 0, 0, 0});

    private final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);

    private static ResponseForm form(Wire wire, Map<String, Map<String, Parameter>> shared) {
        return new ResponseForm(wire, false, OutputForms.JSON, false, shared, null, null);
    }

    private static ModelInferResponse.InferOutputTensor output(String name) {
        return ModelInferResponse.InferOutputTensor.newBuilder()
                .setName(name)
                .setDatatype("INT32")
                .addShape(1)
                .build();
    }

    /** Triton's response over gRPC: a raw content for each output, which is empty for one in shared memory. */
    private static InferMessage protobuf(ByteString shared) {
        return new InferMessage.ProtobufMessage(Unpooled.wrappedBuffer(ModelInferResponse.newBuilder()
                .setModelName("m")
                .addOutputs(output("y"))
                .addOutputs(output("z"))
                .addRawOutputContents(shared)
                .addRawOutputContents(PLAIN)
                .build()
                .toByteArray()));
    }

    /** Triton's response over REST: no data for an output in shared memory. */
    private static InferMessage rest() {
        byte[] json = """
                {"model_name":"m","outputs":[{"name":"y","datatype":"INT32","shape":[1]},\
                {"name":"z","datatype":"INT32","shape":[1],"data":[7]}]}""".getBytes(StandardCharsets.US_ASCII);
        return new InferMessage.RestMessage(new RestBody(Unpooled.wrappedBuffer(json), RestBody.ALL_JSON));
    }

    private static InferMessage answer(Wire wire) {
        return wire == Wire.REST ? rest() : protobuf(ByteString.EMPTY);
    }

    @ParameterizedTest
    @EnumSource(names = {"REST", "PROTOBUF"})
    void answer_ofSharedOutput_isTranscoded(Wire from) throws Exception {
        for (Wire to : List.of(Wire.REST, Wire.PROTOBUF)) {
            InferMessage message = transcoder.response(ALLOCATOR, answer(from), form(to, Map.of("y", REGION)));
            if (message instanceof InferMessage.RestMessage json) {
                assertThat(json.body().content().toString(StandardCharsets.UTF_8))
                        .isEqualTo("{\"model_name\":\"m\",\"outputs\":["
                                + "{\"name\":\"y\",\"datatype\":\"INT32\",\"shape\":[1]},"
                                + "{\"name\":\"z\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[7]}]}");
            } else if (message instanceof InferMessage.ProtobufMessage encoded) {
                ModelInferResponse parsed = ModelInferResponse.parseFrom(ByteBufUtil.getBytes(encoded.message()));
                assertThat(parsed.getRawOutputContentsList()).containsExactly(ByteString.EMPTY, PLAIN);
                assertThat(parsed.getOutputs(0).getParametersMap()).isEmpty();
            }
            message.release();
        }
    }

    /** Triton's C++ client takes every output with parameters for binary data. */
    @Test
    void answer_thatNamesTheRegion_keepsOtherParameters() {
        byte[] json = """
                {"model_name":"m","outputs":[{"name":"y","datatype":"INT32","shape":[1],"parameters":\
                {"shared_memory_region":"region","shared_memory_offset":8,"own":1}}]}""".getBytes(StandardCharsets.US_ASCII);
        var body = new RestBody(Unpooled.wrappedBuffer(json), RestBody.ALL_JSON);
        InferMessage message = transcoder.response(
                ALLOCATOR, new InferMessage.RestMessage(body), form(Wire.REST, Map.of("y", REGION)));
        assertThat(((InferMessage.RestMessage) message).body().content().toString(StandardCharsets.UTF_8))
                .contains("\"shape\":[1],\"parameters\":{\"own\":1}}");
        message.release();
    }

    @ParameterizedTest
    @EnumSource(names = {"REST", "PROTOBUF"})
    void answer_withoutData_thatWasNotAskedSo_isRefused(Wire from) {
        assertThatThrownBy(() -> transcoder.response(ALLOCATOR, answer(from), form(Wire.REST, Map.of())))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER));
    }

    @Test
    void answer_withDataOfSharedOutput_isRefused() {
        assertThatThrownBy(() -> transcoder.response(ALLOCATOR, protobuf(PLAIN), form(Wire.REST, Map.of("y", REGION))))
                .hasMessage("output 'y': raw contents and a shared memory region are both given");
    }

    private String json(Dialect dialect, RequestedOutput... outputs) {
        InferRequest request = new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(), List.of(outputs));
        ServerFeatures peer = new ServerFeatures(Wire.REST, dialect, true, true);
        InferMessage message = transcoder.request(ALLOCATOR, new InferMessage.DecodedRequest(request), peer);
        try {
            return message instanceof InferMessage.RestMessage rest
                    ? rest.body().content().toString(StandardCharsets.UTF_8)
                    : "";
        } finally {
            message.release();
        }
    }

    @Test
    void request_asksForSharedOutput_notAsBinary() {
        assertThat(json(Dialect.TRITON, new RequestedOutput("y", REGION), new RequestedOutput("z", Map.of())))
                .contains("\"outputs\":[{\"name\":\"y\",\"parameters\":{\"shared_memory_region\":\"region\"}},"
                        + "{\"name\":\"z\",\"parameters\":{\"binary_data\":true}}]")
                .doesNotContain("binary_data_output");
    }

    /** KServe's models read one parameter, its server the other. */
    @Test
    void request_toKserve_asksTwiceForBinaryData() {
        assertThat(json(Dialect.KSERVE, new RequestedOutput("z", Map.of())))
                .contains("\"parameters\":{\"binary_data_output\":true}", "\"parameters\":{\"binary_data\":true}");
    }

    @Test
    void sharedOutputs_ofAnEncodedRequest() {
        ModelInferRequest request = ModelInferRequest.newBuilder()
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .setName("y")
                        .putParameters(
                                Tensor.SHARED_MEMORY_REGION,
                                InferParameter.newBuilder()
                                        .setStringParam("region")
                                        .build())
                        .putParameters(
                                "shared_memory_byte_size",
                                InferParameter.newBuilder().setInt64Param(4).build()))
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .setName("z"))
                .addRawInputContents(ByteString.copyFrom(new byte[4]))
                .build();
        assertThat(transcoder.sharedOutputs(Unpooled.wrappedBuffer(request.toByteArray())))
                .containsExactly(Map.entry("y", REGION));
    }
}

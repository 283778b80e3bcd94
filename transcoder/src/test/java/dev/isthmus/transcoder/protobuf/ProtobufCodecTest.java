package dev.isthmus.transcoder.protobuf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.transcoder.Samples;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** Our reader and writer against the classes that protoc generates. */
class ProtobufCodecTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    static final List<Samples> SAMPLES = Samples.ALL;

    private static ModelInferRequest.Builder request(Samples sample) {
        return ModelInferRequest.newBuilder()
                .setModelName("m")
                .setModelVersion("3")
                .setId("\u00e97")
                .putParameters(
                        "b", InferParameter.newBuilder().setBoolParam(false).build())
                .putParameters(
                        "i", InferParameter.newBuilder().setInt64Param(-1).build())
                .putParameters(
                        "s", InferParameter.newBuilder().setStringParam("").build())
                .putParameters(
                        "d", InferParameter.newBuilder().setDoubleParam(0.5).build())
                .putParameters(
                        "u", InferParameter.newBuilder().setUint64Param(-1).build())
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype(sample.type().name())
                        .addShape(2)
                        .addShape(3))
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .setName("y"));
    }

    private static InferRequest read(byte[] message) {
        return ProtobufReader.request(ALLOCATOR.buffer().writeBytes(message), WireLimits.DEFAULT);
    }

    private static void assertRead(InferRequest read, Samples sample) {
        try {
            assertThat(read.model()).isEqualTo(new ModelRef("m", "3"));
            assertThat(read.id()).isEqualTo("\u00e97");
            assertThat(read.parameters())
                    .containsOnly(
                            Map.entry("b", new Parameter.Bool(false)),
                            Map.entry("i", new Parameter.Int64(-1)),
                            Map.entry("s", new Parameter.Text("")),
                            Map.entry("d", new Parameter.Float64(0.5)),
                            Map.entry("u", new Parameter.Uint64(-1)));
            assertThat(read.outputs()).containsExactly(new RequestedOutput("y", Map.of()));
            Tensor tensor = read.inputs().get(0);
            assertThat(tensor.shape()).isEqualTo(Shape.of(2, 3));
            assertThat(tensor.dataType()).isEqualTo(sample.type());
            assertThat(ByteBufUtil.getBytes(tensor.data())).isEqualTo(sample.raw());
        } finally {
            read.release();
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void raw_inPartsCutAnywhere_isRead(Samples sample) {
        byte[] message = request(sample)
                .addRawInputContents(ByteString.copyFrom(sample.raw()))
                .build()
                .toByteArray();
        for (int cut = 0; cut <= message.length; cut++) {
            CompositeByteBuf parts = ALLOCATOR.compositeBuffer();
            parts.addComponent(true, ALLOCATOR.buffer().writeBytes(message, 0, cut));
            parts.addComponent(true, ALLOCATOR.buffer().writeBytes(message, cut, message.length - cut));
            assertThat(ProtobufReader.outline(parts).model()).isEqualTo(new ModelRef("m", "3"));
            assertRead(ProtobufReader.request(parts, WireLimits.DEFAULT), sample);
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void typed_isRead(Samples sample) {
        if (sample.type() == DataType.FP16 || sample.type() == DataType.BF16) {
            return;
        }
        ModelInferRequest.Builder request = request(sample);
        request.getInputsBuilder(0).setContents(typed(sample));
        assertRead(read(request.build().toByteArray()), sample);
    }

    private static InferTensorContents typed(Samples sample) {
        InferTensorContents.Builder contents = InferTensorContents.newBuilder();
        ByteBuf raw = Unpooled.wrappedBuffer(sample.raw());
        while (raw.isReadable()) {
            switch (sample.type()) {
                case BOOL -> contents.addBoolContents(raw.readByte() != 0);
                case INT8 -> contents.addIntContents(raw.readByte());
                case INT16 -> contents.addIntContents(raw.readShortLE());
                case INT32 -> contents.addIntContents(raw.readIntLE());
                case INT64 -> contents.addInt64Contents(raw.readLongLE());
                case UINT8 -> contents.addUintContents(raw.readUnsignedByte());
                case UINT16 -> contents.addUintContents(raw.readUnsignedShortLE());
                case UINT32 -> contents.addUintContents(raw.readIntLE());
                case UINT64 -> contents.addUint64Contents(raw.readLongLE());
                case FP32 -> contents.addFp32Contents(Float.intBitsToFloat(raw.readIntLE()));
                case FP64 -> contents.addFp64Contents(Double.longBitsToDouble(raw.readLongLE()));
                case BYTES -> {
                    byte[] element = new byte[raw.readIntLE()];
                    raw.readBytes(element);
                    contents.addBytesContents(ByteString.copyFrom(element));
                }
                case FP16, BF16 -> throw new IllegalStateException();
            }
        }
        return contents.build();
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void request_written_isReadByProtobuf(Samples sample) throws InvalidProtocolBufferException {
        byte[] original = request(sample)
                .addRawInputContents(ByteString.copyFrom(sample.raw()))
                .build()
                .toByteArray();
        ByteBuf written = ProtobufWriter.request(ALLOCATOR, read(original), Dialect.GENERIC);
        ModelInferRequest parsed = ModelInferRequest.parseFrom(ByteBufUtil.getBytes(written));
        written.release();
        assertThat(parsed).isEqualTo(ModelInferRequest.parseFrom(original));
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void response_roundTrip(Samples sample) throws InvalidProtocolBufferException {
        ModelInferResponse original = ModelInferResponse.newBuilder()
                .setModelName("m")
                .setId("7")
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName("y")
                        .setDatatype(sample.type().name())
                        .addShape(6)
                        // As MLServer sends it beside raw contents.
                        .setContents(InferTensorContents.getDefaultInstance())
                        .putParameters(
                                "p",
                                InferParameter.newBuilder().setInt64Param(5).build()))
                .addRawOutputContents(ByteString.copyFrom(sample.raw()))
                .build();
        InferResponse read = ProtobufReader.response(
                ALLOCATOR.buffer().writeBytes(original.toByteArray()), WireLimits.DEFAULT, Map.of());
        assertThat(ByteBufUtil.getBytes(read.outputs().get(0).data())).isEqualTo(sample.raw());
        ByteBuf written = ProtobufWriter.response(ALLOCATOR, read, false);
        ModelInferResponse parsed = ModelInferResponse.parseFrom(ByteBufUtil.getBytes(written));
        written.release();
        ModelInferResponse.Builder expected = original.toBuilder();
        expected.getOutputsBuilder(0).clearContents();
        assertThat(parsed).isEqualTo(expected.build());
    }

    @Test
    void message_truncatedAnywhere_leaksNothing() {
        Samples sample = SAMPLES.get(0);
        byte[] message = request(sample)
                .addRawInputContents(ByteString.copyFrom(sample.raw()))
                .build()
                .toByteArray();
        int refused = 0;
        for (int length = 0; length < message.length; length++) {
            try {
                read(java.util.Arrays.copyOf(message, length)).release();
            } catch (OipException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
                refused++;
            }
        }
        assertThat(refused).isGreaterThan(message.length / 2);
    }

    @Test
    void largeTensor_isNotCopied() {
        byte[] raw = new byte[4096];
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().addRawInputContents(ByteString.copyFrom(raw));
        request.addInputsBuilder().setName("x").setDatatype("UINT8").addShape(raw.length);
        ByteBuf message = ALLOCATOR.buffer().writeBytes(request.build().toByteArray());
        ByteBuf original = message.retainedSlice();
        ByteBuf written =
                ProtobufWriter.request(ALLOCATOR, ProtobufReader.request(message, WireLimits.DEFAULT), Dialect.GENERIC);
        original.setByte(original.writerIndex() - 1, 42);
        assertThat(written.getByte(written.writerIndex() - 1)).isEqualTo((byte) 42);
        written.release();
        original.release();
    }

    private static String refusal(Consumer<ModelInferRequest.Builder> change) {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder()
                .addRawInputContents(ByteString.copyFrom(new byte[8]))
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(2));
        change.accept(request);
        OipException[] caught = new OipException[1];
        assertThatThrownBy(() -> read(request.build().toByteArray()).release())
                .isInstanceOfSatisfying(OipException.class, e -> caught[0] = e);
        assertThat(caught[0].code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        return caught[0].message();
    }

    @Test
    void request_invalid_isRefusedByName() {
        assertThat(refusal(r -> r.setRawInputContents(0, ByteString.copyFrom(new byte[5]))))
                .isEqualTo("input 'x': shape [2] of FP32 needs 8 bytes, got 5");
        assertThat(refusal(r -> r.addRawInputContents(ByteString.EMPTY)))
                .isEqualTo("raw contents: one entry for each of the 1 inputs is expected, got 2");
        assertThat(refusal(r -> r.clearRawInputContents())).contains("needs 8 bytes, got 0");
        assertThat(refusal(r -> r.getInputsBuilder(0).setDatatype("FP99"))).contains("datatype 'FP99'");
        assertThat(refusal(r -> r.getInputsBuilder(0).setShape(0, -1))).contains("negative dimension");
        assertThat(refusal(r -> r.getInputsBuilder(0).setShape(0, 1L << 62).addShape(8)))
                .contains("more elements than can be counted");
        assertThat(refusal(r -> r.getInputsBuilder(0).getContentsBuilder().addFp32Contents(1)))
                .contains("contents and raw contents are both given");
        assertThat(refusal(r -> r.addInputs(r.getInputs(0)).addRawInputContents(r.getRawInputContents(0))))
                .isEqualTo("input 'x' is given twice");
        assertThat(refusal(r -> r.addOutputsBuilder()
                        .setName("y")
                        .putParameters(
                                "shared_memory_region",
                                InferParameter.newBuilder().setBoolParam(true).build())))
                .isEqualTo("output 'y': shared memory is not enabled");
        assertThat(refusal(r -> r.putParameters("p", InferParameter.getDefaultInstance())))
                .isEqualTo("parameter 'p' has no value");
    }

    private static String typedRefusal(String type, Consumer<InferTensorContents.Builder> contents) {
        return refusal(r -> {
            r.clearRawInputContents();
            r.getInputsBuilder(0).setDatatype(type);
            contents.accept(r.getInputsBuilder(0).getContentsBuilder());
        });
    }

    @Test
    void typedContents_invalid_areRefused() {
        assertThat(typedRefusal("FP32", c -> c.addIntContents(1)))
                .isEqualTo("input 'x': datatype FP32 goes into fp32_contents, got int_contents");
        assertThat(typedRefusal("FP32", c -> c.addFp32Contents(1)))
                .isEqualTo("input 'x': shape [2] needs 2 elements, got 1");
        assertThat(typedRefusal("UINT8", c -> c.addUintContents(300).addUintContents(1)))
                .isEqualTo("input 'x': a value of UINT8 is expected, got 300");
        assertThat(typedRefusal("INT8", c -> c.addIntContents(-129).addIntContents(1)))
                .isEqualTo("input 'x': a value of INT8 is expected, got -129");
        assertThat(typedRefusal("FP16", c -> c.addFp32Contents(1))).contains("raw contents only");
    }

    @Test
    void bytes_rawMalformed_isRefused() {
        Consumer<byte[]> expected = raw -> assertThat(refusal(r -> {
                    r.getInputsBuilder(0).setDatatype("BYTES");
                    r.setRawInputContents(0, ByteString.copyFrom(raw));
                }))
                .startsWith("input 'x': ")
                .contains("BYTES");
        expected.accept(new byte[] {1, 0, 0});
        expected.accept(new byte[] {2, 0, 0, 0, 'a'});
        expected.accept(new byte[] {-1, -1, -1, -1, 'a'});
        expected.accept("\1\0\0\0a".getBytes(StandardCharsets.US_ASCII));
    }

    private static Map<String, Parameter> parameters(byte[] message) {
        return ProtobufReader.parameters(Unpooled.wrappedBuffer(message));
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void parameters_areThoseOfTheDecodedRequest(Samples sample) {
        byte[] message = request(sample)
                .addRawInputContents(ByteString.copyFrom(sample.raw()))
                .putParameters(
                        "binary_data_output",
                        InferParameter.newBuilder().setBoolParam(true).build())
                .build()
                .toByteArray();
        InferRequest decoded = read(message);
        assertThat(parameters(message)).hasSize(5).isEqualTo(decoded.parameters());
        assertThat(List.copyOf(parameters(message).keySet()))
                .isEqualTo(List.copyOf(decoded.parameters().keySet()));
        decoded.release();
    }

    @Test
    void parameters_ofMessageInPartsCutAnywhere_areTheSame() {
        byte[] message = request(Samples.ALL.getFirst()).build().toByteArray();
        for (int cut = 0; cut <= message.length; cut++) {
            ByteBuf parts = Unpooled.wrappedBuffer(
                    Unpooled.wrappedBuffer(message, 0, cut),
                    Unpooled.wrappedBuffer(message, cut, message.length - cut));
            assertThat(ProtobufReader.parameters(parts)).isEqualTo(parameters(message));
            assertThat(parts.readableBytes()).isEqualTo(message.length);
        }
    }

    @Test
    void parameters_ofTensorsAndOutputs_areNotTheRequests() {
        InferParameter value = InferParameter.newBuilder().setBoolParam(true).build();
        byte[] message = ModelInferRequest.newBuilder()
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder().putParameters("a", value))
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .putParameters("b", value))
                .build()
                .toByteArray();
        assertThat(parameters(message)).isEmpty();
        assertThat(parameters(new byte[0])).isEmpty();
    }

    @Test
    void parameters_ofSameName_lastWins() {
        byte[] first = request(Samples.ALL.getFirst()).build().toByteArray();
        byte[] second = ModelInferRequest.newBuilder()
                .putParameters("i", InferParameter.newBuilder().setInt64Param(2).build())
                .build()
                .toByteArray();
        byte[] both = ByteBufUtil.getBytes(Unpooled.wrappedBuffer(first, second));
        assertThat(parameters(both)).hasSize(5).containsEntry("i", new Parameter.Int64(2));
    }

    @Test
    void parameters_malformedOrTooMany_fail() {
        byte[] valueless = {0x22, 3, 0x0a, 1, 'p'};
        assertThatThrownBy(() -> parameters(valueless))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessageContaining("'p' has no value");
        assertThatThrownBy(() -> parameters(new byte[] {0x22, 9}))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("malformed");
        ModelInferRequest.Builder many = ModelInferRequest.newBuilder();
        for (int i = 0; i <= WireLimits.DEFAULT.parameters(); i++) {
            many.putParameters(
                    "p" + i, InferParameter.newBuilder().setInt64Param(i).build());
        }
        assertThatThrownBy(() -> parameters(many.build().toByteArray())).hasMessageContaining("at most 1024");
    }

    /** Each is within its limits; together they would take hundreds of times what one may. */
    @Test
    void parametersOfAllTensorsTogether_areLimited() {
        ModelInferRequest.InferInputTensor.Builder input = ModelInferRequest.InferInputTensor.newBuilder()
                .setName("a")
                .setDatatype("INT8")
                .addShape(0);
        for (int i = 0; i < 1000; i++) {
            input.putParameters(
                    Integer.toString(i),
                    InferParameter.newBuilder().setInt64Param(i).build());
        }
        ModelInferRequest.Builder many = ModelInferRequest.newBuilder().setModelName("m");
        for (int i = 0; i < 66; i++) {
            many.addInputs(input.setName("a" + i));
        }
        assertThatThrownBy(() -> read(many.build().toByteArray())).hasMessageContaining("at most 65536 of one message");
    }
}

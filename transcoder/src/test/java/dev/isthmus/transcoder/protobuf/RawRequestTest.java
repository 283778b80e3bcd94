package dev.isthmus.transcoder.protobuf;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RawRequestTest {
    private static final InferParameter REGION =
            InferParameter.newBuilder().setStringParam("r").build();

    private static ModelInferRequest.InferInputTensor.Builder input(String name, String type, long... shape) {
        var input =
                ModelInferRequest.InferInputTensor.newBuilder().setName(name).setDatatype(type);
        Arrays.stream(shape).forEach(input::addShape);
        return input;
    }

    /** Inputs of 1, 2, 3 x 5 elements with their contents. */
    private static ModelInferRequest.Builder request(DataType type, int inputs) {
        var request = head(type, inputs);
        for (int i = 1; i <= inputs; i++) {
            request.addRawInputContents(content(i * 5 * type.size()));
        }
        return request;
    }

    private static ModelInferRequest.Builder head(DataType type, int inputs) {
        var request = ModelInferRequest.newBuilder()
                .setModelName("m")
                .setModelVersion("3")
                .setId("7")
                .putParameters("p", InferParameter.newBuilder().setInt64Param(1).build())
                .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                        .setName("y"));
        for (int i = 1; i <= inputs; i++) {
            request.addInputs(input("x" + i, type.name(), i, 5));
        }
        return request;
    }

    private static ByteString content(int bytes) {
        byte[] content = new byte[bytes];
        // Bytes that are valid fields if they are read as such.
        Arrays.fill(content, (byte) 0x3a);
        return ByteString.copyFrom(content);
    }

    private static int headLength(byte[] message) {
        return new RequestHeadFinder().in(Unpooled.wrappedBuffer(message));
    }

    private static @Nullable RawRequest begin(byte[] message) {
        return RawRequest.of(
                Unpooled.wrappedBuffer(message, 0, headLength(message)), message.length, WireLimits.DEFAULT);
    }

    private static RawRequest begun(byte[] message) {
        return requireNonNull(begin(message));
    }

    private static ByteBuf rest(byte[] message) {
        int head = headLength(message);
        return Unpooled.wrappedBuffer(message, head, message.length - head);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void message_cutAnywhere_isComplete(int inputs) {
        byte[] message = request(DataType.INT32, inputs).build().toByteArray();
        ByteBuf rest = rest(message);
        for (int cut = 0; cut <= rest.readableBytes(); cut++) {
            RawRequest request = begun(message);
            request.check(rest.slice(0, cut));
            assertThat(request.complete()).isEqualTo(cut == rest.readableBytes());
            request.check(rest.slice(cut, rest.readableBytes() - cut));
            assertThat(request.complete()).isTrue();
        }
    }

    @Test
    void message_byteByByte_isComplete() {
        byte[] message = request(DataType.FP64, 3).build().toByteArray();
        RawRequest request = begun(message);
        ByteBuf rest = rest(message);
        while (rest.isReadable()) {
            assertThat(request.complete()).isFalse();
            request.check(rest.readSlice(1));
        }
        assertThat(request.complete()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(value = DataType.class, mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
    void datatype_ofFixedSize_isCheckedWhileItComes(DataType type) {
        byte[] message = request(type, 2).build().toByteArray();
        RawRequest request = begun(message);
        request.check(rest(message));
        assertThat(request.complete()).isTrue();
        assertThat(request.length()).isEqualTo(message.length);
        assertThat(request.headLength()).isEqualTo(headLength(message));
        assertThat(request.contested()).isEqualTo(new ProtobufReader.Contested(false, false, false, false, "7"));
    }

    @Test
    void tensorWithoutElements_hasAnEmptyContent() {
        byte[] message = head(DataType.INT8, 1)
                .addInputs(input("none", "INT8", 0))
                .addRawInputContents(content(5))
                .addRawInputContents(ByteString.EMPTY)
                .build()
                .toByteArray();
        RawRequest request = begun(message);
        request.check(rest(message));
        assertThat(request.complete()).isTrue();
    }

    private static void assertRefused(byte[] message, String text) {
        RawRequest request = begun(message);
        ByteBuf rest = rest(message);
        List<OipException> thrown = new ArrayList<>();
        try {
            request.check(rest);
        } catch (OipException e) {
            thrown.add(e);
        }
        assertThat(thrown).singleElement().satisfies(failure -> {
            assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(failure).hasMessage(text);
        });
    }

    @Test
    void contents_ofWrongLengthsThatAddUp_areRefused() {
        byte[] message = head(DataType.INT32, 2)
                .addRawInputContents(content(24))
                .addRawInputContents(content(36))
                .build()
                .toByteArray();
        assertRefused(message, "input 'x1': shape [1,5] of INT32 needs 20 bytes, got 24");
    }

    @Test
    void content_ofWrongLength_isRefusedBeforeItsBytes() {
        byte[] message = head(DataType.INT32, 2)
                .addRawInputContents(content(20))
                .addRawInputContents(content(36))
                .addRawInputContents(content(2))
                .build()
                .toByteArray();
        RawRequest request = begun(message);
        ByteBuf rest = rest(message);
        request.check(rest.readSlice(2 + 20 + 1));
        assertThatThrownBy(() -> request.check(rest.readSlice(1)))
                .hasMessage("input 'x2': shape [2,5] of INT32 needs 40 bytes, got 36");
    }

    @Test
    void otherField_inPlaceOfAContent_isRefused() {
        byte[] other = head(DataType.INT8, 2)
                .addRawInputContents(content(5))
                .setUnknownFields(UnknownFieldSet.newBuilder()
                        .addField(
                                9,
                                UnknownFieldSet.Field.newBuilder()
                                        .addLengthDelimited(content(10))
                                        .build())
                        .build())
                .build()
                .toByteArray();
        assertRefused(other, "raw contents: one entry for each of the 2 inputs is expected, got 1");
    }

    @Test
    void bytesBeyondTheMessage_areRefused() {
        byte[] message = request(DataType.INT8, 1).build().toByteArray();
        RawRequest request = begun(message);
        request.check(rest(message));
        assertThatThrownBy(() -> request.check(Unpooled.wrappedBuffer(new byte[] {0x3a})))
                .hasMessage("raw contents: one entry for each of the 1 inputs is expected, got more");
    }

    private static void assertGathered(Consumer<ModelInferRequest.Builder> change) {
        ModelInferRequest.Builder request = request(DataType.INT32, 2);
        change.accept(request);
        assertThat(begin(request.build().toByteArray())).isNull();
    }

    @Test
    void contents_tooFewTooManyOrOfAnotherLength_areLookedAtAsAWhole() {
        assertGathered(request -> request.clearRawInputContents().addRawInputContents(content(20)));
        assertGathered(request -> request.addRawInputContents(content(1)));
        assertGathered(request -> request.setRawInputContents(1, content(41)));
        assertGathered(request -> request.setRawInputContents(1, content(0)));
    }

    @Test
    void tensorsWhoseBytesSayMore_areLookedAtAsAWhole() {
        assertGathered(request -> request.addInputs(input("s", "BYTES", 1)).addRawInputContents(content(4)));
        assertGathered(
                request -> request.addInputs(input("s", "INT8", 1).putParameters("shared_memory_region", REGION)));
        assertGathered(request -> request.getOutputsBuilder(0).putParameters("shared_memory_region", REGION));
    }

    @Test
    void unknownFields_passInTheHead_andNotBehindIt() {
        var unknown = UnknownFieldSet.newBuilder()
                .addField(
                        9,
                        UnknownFieldSet.Field.newBuilder()
                                .addVarint(-1)
                                .addFixed32(1)
                                .addFixed64(2)
                                .build())
                .build();
        assertGathered(request -> request.setUnknownFields(unknown));
        byte[] request = request(DataType.INT32, 2).build().toByteArray();
        ByteString both = ByteString.copyFrom(unknown.toByteArray()).concat(ByteString.copyFrom(request));
        byte[] message = both.toByteArray();
        RawRequest begun = begun(message);
        begun.check(rest(message));
        assertThat(begun.complete()).isTrue();
        ByteBuf head = Unpooled.wrappedBuffer(message, 0, headLength(message));
        assertThat(ProtobufReader.Outline.ofHead(head).model()).isEqualTo(new ModelRef("m", "3"));
        assertThat(ProtobufReader.Outline.ofHead(head).raw()).isTrue();
    }

    @Test
    void contents_beforeTheInputs_areLookedAtAsAWhole() {
        byte[] contents = ModelInferRequest.newBuilder()
                .addRawInputContents(content(5))
                .build()
                .toByteArray();
        byte[] inputs = head(DataType.INT8, 1).build().toByteArray();
        byte[] message = ByteString.copyFrom(contents)
                .concat(ByteString.copyFrom(inputs))
                .toByteArray();
        assertThat(headLength(message)).isZero();
        assertThat(begin(message)).isNull();
    }

    @Test
    void head_thatBreaksTheProtocol_isRefused() {
        for (ModelInferRequest.Builder request : List.of(
                request(DataType.INT8, 1).addInputs(input("x1", "INT8", 1)),
                request(DataType.INT8, 1).addInputs(input("x2", "INT9", 1)),
                request(DataType.INT8, 1).addInputs(input("x2", "INT8", -1)),
                request(DataType.INT8, 1).addInputs(input("x2", "INT64", Long.MAX_VALUE)),
                request(DataType.INT8, 1)
                        .addInputs(input("x2", "INT32", 1)
                                .setContents(InferTensorContents.newBuilder().addIntContents(1))))) {
            byte[] message = request.build().toByteArray();
            assertThatThrownBy(() -> begin(message))
                    .isInstanceOfSatisfying(
                            OipException.class,
                            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT));
        }
    }

    @Test
    void headEnd_isFoundAsSoonAsTheContentsBegin() {
        byte[] message = request(DataType.INT8, 3).build().toByteArray();
        int head = headLength(message);
        RequestHeadFinder end = new RequestHeadFinder();
        for (int come = 0; come <= head; come++) {
            assertThat(end.in(Unpooled.wrappedBuffer(message, 0, come))).isEqualTo(RequestHeadFinder.NOT_YET);
        }
        assertThat(end.in(Unpooled.wrappedBuffer(message, 0, head + 1))).isEqualTo(head);
    }

    @Test
    void headEnd_ofTypedOrMalformedMessages_isNone() {
        byte[] typed = ModelInferRequest.newBuilder()
                .addInputs(input("x", "INT8", 1)
                        .setContents(InferTensorContents.newBuilder().addBytesContents(content(70_000))))
                .build()
                .toByteArray();
        assertThat(new RequestHeadFinder().in(Unpooled.wrappedBuffer(typed, 0, 10)))
                .isEqualTo(RequestHeadFinder.NONE);
        assertThat(new RequestHeadFinder().in(Unpooled.wrappedBuffer(new byte[] {0x0b})))
                .isEqualTo(RequestHeadFinder.NONE);
        byte[] endless = new byte[11];
        Arrays.fill(endless, (byte) 0x80);
        assertThat(new RequestHeadFinder().in(Unpooled.wrappedBuffer(endless))).isEqualTo(RequestHeadFinder.NONE);
        // Many small fields.
        ByteBuf many = Unpooled.buffer();
        while (many.readableBytes() < 70_000) {
            many.writeByte(0x48).writeByte(1);
        }
        assertThat(new RequestHeadFinder().in(many)).isEqualTo(RequestHeadFinder.NONE);
    }
}

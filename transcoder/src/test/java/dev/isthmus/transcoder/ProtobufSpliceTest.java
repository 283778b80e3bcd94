package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against the classes that protoc generates. */
class ProtobufSpliceTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final ModelRef OTHER = new ModelRef("other-\u00e9", "7");

    private static final ModelInferRequest REQUEST = ModelInferRequest.newBuilder()
            .setModelName("m")
            .setModelVersion("3")
            .setId("id")
            .putParameters("p", InferParameter.newBuilder().setStringParam("v").build())
            .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("x")
                    .setDatatype("UINT8")
                    .addShape(3))
            .addOutputs(
                    ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("y"))
            .addRawInputContents(ByteString.copyFrom(new byte[] {1, 2, 3}))
            .build();

    /** A message that keeps its memory as gRPC's do: it is freed with the composite, whatever holds its parts. */
    private static final class Received extends CompositeByteBuf {
        private boolean freed;

        Received() {
            super(UnpooledByteBufAllocator.DEFAULT, true, 16);
        }

        @Override
        protected void deallocate() {
            super.deallocate();
            freed = true;
        }
    }

    private static ByteBuf buffer(byte[] bytes) {
        return ALLOCATOR.buffer(bytes.length + 2).writeZero(2).skipBytes(2).writeBytes(bytes);
    }

    private static byte[] bytes(ByteBuf taken) {
        try {
            return ByteBufUtil.getBytes(taken);
        } finally {
            taken.release();
        }
    }

    private static ModelInferRequest spliced(byte[] message, ModelRef model) throws InvalidProtocolBufferException {
        return ModelInferRequest.parseFrom(bytes(ModelSplice.request(ALLOCATOR, buffer(message), model)));
    }

    private static ModelInferRequest renamed(byte[] message, ModelRef model) throws InvalidProtocolBufferException {
        return ModelInferRequest.parseFrom(message).toBuilder()
                .setModelName(model.name())
                .setModelVersion(model.version())
                .build();
    }

    private static byte[] joined(byte[]... parts) {
        return bytes(Unpooled.wrappedBuffer(parts));
    }

    private static byte[] named(String name, String version) {
        return ModelInferRequest.newBuilder()
                .setModelName(name)
                .setModelVersion(version)
                .build()
                .toByteArray();
    }

    @Test
    void request_getsNameAndVersion() throws Exception {
        assertThat(spliced(REQUEST.toByteArray(), OTHER)).isEqualTo(renamed(REQUEST.toByteArray(), OTHER));
    }

    @Test
    void request_modelWithoutVersion_hasNoVersionField() throws Exception {
        byte[] spliced = bytes(ModelSplice.request(ALLOCATOR, buffer(named("m", "3")), ModelRef.of("o")));
        assertThat(spliced).isEqualTo(named("o", ""));
    }

    @Test
    void request_withoutNameAndVersion_getsThem() throws Exception {
        byte[] message =
                REQUEST.toBuilder().clearModelName().clearModelVersion().build().toByteArray();
        assertThat(spliced(message, OTHER)).isEqualTo(renamed(message, OTHER));
    }

    @Test
    void emptyMessage_getsNameAndVersion() throws Exception {
        assertThat(bytes(ModelSplice.request(ALLOCATOR, Unpooled.EMPTY_BUFFER, OTHER)))
                .isEqualTo(named(OTHER.name(), "7"));
        assertThat(bytes(ModelSplice.request(ALLOCATOR, Unpooled.EMPTY_BUFFER, ModelRef.of(""))))
                .isEmpty();
    }

    @Test
    void request_fieldsInAnyOrderAndRepeated_loseEveryNameAndVersion() throws Exception {
        byte[] rest =
                REQUEST.toBuilder().clearModelName().clearModelVersion().build().toByteArray();
        byte[] message = joined(rest, named("a", "1"), rest, named("b", ""), named("", "2"), rest, named("c", "3"));
        byte[] spliced = bytes(ModelSplice.request(ALLOCATOR, buffer(message), OTHER));
        assertThat(spliced).isEqualTo(joined(named(OTHER.name(), "7"), rest, rest, rest));
    }

    @Test
    void request_unknownFields_stay() throws Exception {
        // Fields 98 to 101, one of each wire type.
        byte[] unknown = HexFormat.of().parseHex("900605" + "99060102030405060708" + "a2060161" + "ad0601020304");
        byte[] message = joined(unknown, REQUEST.toByteArray(), unknown);
        assertThat(spliced(message, OTHER)).isEqualTo(renamed(message, OTHER));
    }

    @Test
    void request_inTwoPartsCutAnywhere_isTheSame() throws Exception {
        byte[] message = joined(named("model", "12"), REQUEST.toByteArray());
        for (int cut = 0; cut <= message.length; cut++) {
            ByteBuf parts = ALLOCATOR
                    .compositeBuffer()
                    .addComponent(true, buffer(Arrays.copyOf(message, cut)))
                    .addComponent(true, buffer(Arrays.copyOfRange(message, cut, message.length)));
            byte[] spliced = bytes(ModelSplice.request(ALLOCATOR, parts, OTHER));
            assertThat(ModelInferRequest.parseFrom(spliced)).isEqualTo(renamed(message, OTHER));
        }
    }

    @Test
    void request_cutOff_failsWhereTheOutlineFails() {
        byte[] message = joined(REQUEST.toByteArray(), named("model", "12"));
        for (int length = 0; length < message.length; length++) {
            byte[] cut = Arrays.copyOf(message, length);
            assertThat(failure(cut, true)).as("%d bytes", length).isEqualTo(outlineFailure(cut));
        }
    }

    private static String outlineFailure(byte[] message) {
        try {
            ProtobufReader.outline(Unpooled.wrappedBuffer(message));
            return "";
        } catch (OipException e) {
            return e.code() + e.message();
        }
    }

    private static String failure(byte[] message, boolean request) {
        ByteBuf taken = Unpooled.copiedBuffer(message);
        try {
            ByteBuf spliced = request
                    ? ModelSplice.request(ALLOCATOR, taken, OTHER)
                    : ModelSplice.response(ALLOCATOR, taken, OTHER);
            spliced.release();
            return "";
        } catch (OipException e) {
            assertThat(taken.refCnt()).isZero();
            return e.code() + e.message();
        }
    }

    /** A version that is not UTF-8, field 0, a group without end, a tag and a length beyond 32 bits, no wire type. */
    @ParameterizedTest
    @ValueSource(strings = {"1201ff", "0000", "0b", "f8ffffffff0100", "22ffffffffffffffffff01", "0e"})
    void malformed_failsAndIsReleased(String hex) {
        byte[] message = joined(named("m", "1"), HexFormat.of().parseHex(hex));
        assertThat(failure(message, true))
                .isNotEmpty()
                .isEqualTo(outlineFailure(message))
                .startsWith(ErrorCode.INVALID_ARGUMENT.name());
        assertThat(failure(message, false)).startsWith(ErrorCode.BAD_UPSTREAM_ANSWER.name());
    }

    @Test
    void largeParts_areNotCopied() {
        byte[] raw = new byte[100_000];
        ByteBuf message = Unpooled.copiedBuffer(REQUEST.toBuilder()
                .addRawInputContents(ByteString.copyFrom(raw))
                .build()
                .toByteArray());
        int last = message.writerIndex() - 1;
        ByteBuf spliced = ModelSplice.request(ALLOCATOR, message, OTHER);
        message.setByte(last, 42);
        assertThat(spliced.getByte(spliced.writerIndex() - 1)).isEqualTo((byte) 42);
        assertThat(spliced.release()).isTrue();
        assertThat(message.refCnt()).isZero();
    }

    @Test
    void receivedMessage_isKeptUntilTheSpliceIsReleased() throws Exception {
        byte[] message = joined(
                named("a", ""),
                REQUEST.toBuilder()
                        .addRawInputContents(ByteString.copyFrom(new byte[5000]))
                        .build()
                        .toByteArray(),
                named("b", "5"),
                ModelInferRequest.newBuilder()
                        .addRawInputContents(ByteString.copyFrom(new byte[3000]))
                        .build()
                        .toByteArray());
        Received received = new Received();
        for (int from = 0; from < message.length; from += 2048) {
            byte[] part = Arrays.copyOfRange(message, from, Math.min(from + 2048, message.length));
            received.addComponent(true, Unpooled.wrappedBuffer(part));
        }
        ByteBuf spliced = ModelSplice.request(ALLOCATOR, received.slice(), OTHER);
        ByteBuf again = ModelSplice.response(ALLOCATOR, spliced, ModelRef.of("z"));
        assertThat(received.freed).isFalse();
        assertThat(ModelInferRequest.parseFrom(ByteBufUtil.getBytes(again)))
                .isEqualTo(renamed(message, new ModelRef("z", "7")));
        again.release();
        assertThat(received.freed).isTrue();
    }

    @Test
    void receivedMessage_retainedAndEnveloped_isKeptUntilThatIsReleased() {
        Received received = new Received();
        received.addComponent(true, Unpooled.wrappedBuffer(named("a", "")));
        received.addComponent(true, Unpooled.wrappedBuffer(new byte[] {0x1a, 1, 'i'}));
        InferMessage.ProtobufMessage first = new InferMessage.ProtobufMessage(received.slice());
        ByteBuf enveloped =
                StreamEnvelope.wrap(ALLOCATOR, first.retained().retained().message());
        first.release();
        received.release();
        assertThat(received.freed).isFalse();
        assertThat(enveloped.readableBytes()).isEqualTo(2 + 6);
        enveloped.release();
        assertThat(received.freed).isTrue();
    }

    @Test
    void receivedMessage_malformed_isGivenBack() {
        Received received = new Received();
        received.addComponent(true, Unpooled.wrappedBuffer(new byte[] {8}));
        assertThatThrownBy(() -> ModelSplice.request(ALLOCATOR, received.slice(), OTHER))
                .isInstanceOf(OipException.class);
        assertThat(received.freed).isTrue();
    }

    @Test
    void manySmallFieldsBetweenNames_makeNoPartsOfTheirOwn() {
        byte[] pair = joined(named("a", ""), "\u001a\u0001i".getBytes(StandardCharsets.US_ASCII));
        ByteBuf message = ALLOCATOR.buffer();
        for (int i = 0; i < 10_000; i++) {
            message.writeBytes(pair);
        }
        ByteBuf spliced = ModelSplice.request(ALLOCATOR, message, OTHER);
        assertThat(spliced.nioBufferCount()).isOne();
        assertThat(spliced.readableBytes()).isEqualTo(named(OTHER.name(), "7").length + 30_000);
        spliced.release();
    }

    @Test
    void response_modelWithoutVersion_keepsItsLastVersion() throws Exception {
        byte[] message = ModelInferResponse.newBuilder()
                .setModelName("m")
                .setId("i")
                .addRawOutputContents(ByteString.copyFrom(new byte[2000]))
                .build()
                .toByteArray();
        byte[] versions = joined(named("", "1"), message, named("", "2"));
        byte[] kept = bytes(ModelSplice.response(ALLOCATOR, buffer(versions), ModelRef.of("o")));
        assertThat(ModelInferResponse.parseFrom(kept))
                .isEqualTo(ModelInferResponse.parseFrom(versions).toBuilder()
                        .setModelName("o")
                        .build());
        byte[] given = bytes(ModelSplice.response(ALLOCATOR, buffer(versions), OTHER));
        assertThat(ModelInferResponse.parseFrom(given).getModelVersion()).isEqualTo("7");
        byte[] none = bytes(ModelSplice.response(ALLOCATOR, buffer(message), ModelRef.of("o")));
        assertThat(ModelInferResponse.parseFrom(none).getModelVersion()).isEmpty();
    }

    @Test
    void randomMessages_areTheSameButForTheModel() {
        RandomMessages messages = new RandomMessages(new SplittableRandom(11));
        Wires wires = new Wires(true);
        for (int i = 0; i < 300; i++) {
            Message message = messages.next();
            byte[] encoded = wires.protobuf(message).bytes();
            byte[] spliced = bytes(
                    message.request()
                            ? ModelSplice.request(ALLOCATOR, buffer(encoded), OTHER)
                            : ModelSplice.response(ALLOCATOR, buffer(encoded), OTHER));
            Message renamed = new Message(
                    message.request(), OTHER, message.id(), message.parameters(), message.tensors(), message.outputs());
            assertThat(spliced).isEqualTo(wires.protobuf(renamed).bytes());
        }
        assertThat(wires.held()).isZero();
    }
}

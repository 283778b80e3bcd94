package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

class RetainedMessageTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final Map<String, Parameter> PARAMETERS = Map.of("p", new Parameter.Int64(1));

    /** A kind of message: how it is made from bytes, and how to get them. */
    record Kind(String name, Function<ByteBuf, InferMessage> make, Function<InferMessage, ByteBuf> bytes) {
        @Override
        public String toString() {
            return name;
        }
    }

    static final List<Kind> KINDS = List.of(
            new Kind(
                    "rest",
                    content -> new InferMessage.RestMessage(new RestBody(content, 2)),
                    message -> ((InferMessage.RestMessage) message).body().content()),
            new Kind(
                    "protobuf",
                    InferMessage.ProtobufMessage::new,
                    message -> ((InferMessage.ProtobufMessage) message).message()),
            new Kind(
                    "request",
                    data -> new InferMessage.DecodedRequest(
                            new InferRequest(
                                    new ModelRef("m", "1"),
                                    "i",
                                    PARAMETERS,
                                    List.of(empty(), tensor(data)),
                                    List.of(new RequestedOutput("y", PARAMETERS))),
                            Set.of("x")),
                    message -> ((InferMessage.DecodedRequest) message)
                            .request()
                            .inputs()
                            .getLast()
                            .data()),
            new Kind(
                    "response",
                    data -> new InferMessage.Response(
                            new InferResponse(new ModelRef("m", "1"), "i", PARAMETERS, List.of(empty(), tensor(data)))),
                    message -> ((InferMessage.Response) message)
                            .response()
                            .outputs()
                            .getLast()
                            .data()));

    private static Tensor tensor(ByteBuf data) {
        return new Tensor("x", DataType.UINT8, Shape.of(data.readableBytes()), PARAMETERS, data);
    }

    private static Tensor empty() {
        return new Tensor("e", DataType.UINT8, Shape.of(0), Map.of(), Unpooled.EMPTY_BUFFER);
    }

    private static ByteBuf whole() {
        return Unpooled.buffer().writeBytes("?abcdef".getBytes(UTF_8)).skipBytes(1);
    }

    private static CompositeByteBuf parts() {
        CompositeByteBuf parts = ALLOCATOR.compositeBuffer();
        parts.addComponent(true, Unpooled.copiedBuffer("?abc", UTF_8));
        parts.addComponent(true, Unpooled.copiedBuffer("def", UTF_8));
        parts.skipBytes(1);
        return parts;
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void retained_isTheSameMessage(Kind kind) {
        InferMessage message = kind.make.apply(whole());
        InferMessage retained = message.retained();
        assertThat(retained).isEqualTo(message);
        message.release();
        retained.release();
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void firstReleased_leavesTheRetained(Kind kind) {
        for (ByteBuf source : List.of(whole(), parts())) {
            InferMessage message = kind.make.apply(source);
            InferMessage retained = message.retained();
            message.release();
            assertThat(kind.bytes.apply(retained).toString(UTF_8)).isEqualTo("abcdef");
            retained.release();
            assertThat(source.refCnt()).isZero();
        }
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void retainedReleased_leavesTheFirst(Kind kind) {
        for (ByteBuf source : List.of(whole(), parts())) {
            InferMessage message = kind.make.apply(source);
            InferMessage retained = message.retained();
            message.retained().release();
            retained.release();
            assertThat(kind.bytes.apply(message).toString(UTF_8)).isEqualTo("abcdef");
            message.release();
            assertThat(source.refCnt()).isZero();
        }
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void retained_hasIndicesOfItsOwn(Kind kind) {
        for (ByteBuf source : List.of(whole(), parts())) {
            InferMessage message = kind.make.apply(source);
            InferMessage retained = message.retained();
            kind.bytes.apply(retained).skipBytes(3);
            assertThat(kind.bytes.apply(message).toString(UTF_8)).isEqualTo("abcdef");
            kind.bytes.apply(message).skipBytes(6);
            assertThat(kind.bytes.apply(retained).toString(UTF_8)).isEqualTo("def");
            message.release();
            retained.release();
        }
    }

    @ParameterizedTest
    @FieldSource("KINDS")
    void retained_isNotCopied(Kind kind) {
        for (ByteBuf source : List.of(whole(), parts())) {
            InferMessage message = kind.make.apply(source);
            InferMessage retained = message.retained();
            source.setByte(source.writerIndex() - 1, 'z');
            assertThat(kind.bytes.apply(retained).toString(UTF_8)).isEqualTo("abcdez");
            message.release();
            retained.release();
        }
    }

    /** Writers split composites; a view of one would be copied. */
    @ParameterizedTest
    @FieldSource("KINDS")
    void encodedParts_stayParts(Kind kind) {
        InferMessage message = kind.make.apply(parts());
        InferMessage retained = message.retained();
        if (message.wire() != Wire.DECODED) {
            assertThat(((CompositeByteBuf) kind.bytes.apply(retained)).numComponents())
                    .isEqualTo(2);
        }
        message.release();
        retained.release();
    }
}

package dev.isthmus.transcoder.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.NonFinite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A JSON response is the same, written as a whole or in parts. */
class JsonResponseTextTest {
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);

    @AfterEach
    void nothingIsHeld() {
        assertThat(allocator.metric().usedDirectMemory()).isZero();
        assertThat(allocator.metric().usedHeapMemory()).isZero();
    }

    /** A tensor of random bits, or for BYTES of text of random lengths. */
    private Tensor tensor(String name, DataType type, int elements) {
        SplittableRandom random = new SplittableRandom(elements);
        ByteBuf data = allocator.directBuffer();
        for (int i = 0; i < elements; i++) {
            if (type == DataType.BYTES) {
                byte[] text = "\"text\"\n".repeat(random.nextInt(20)).getBytes(UTF_8);
                data.writeIntLE(text.length).writeBytes(text);
            } else if (type == DataType.BOOL) {
                data.writeByte(random.nextInt(2));
            } else {
                byte[] bits = new byte[type.size()];
                random.nextBytes(bits);
                data.writeBytes(bits);
            }
        }
        return new Tensor(name, type, Shape.of(elements), Map.of(), data);
    }

    private InferResponse answer(DataType type) {
        Map<String, Parameter> parameters = Map.of("p", new Parameter.Text("\u00e4"));
        return new InferResponse(
                new ModelRef("m", "7"),
                "id",
                parameters,
                List.of(tensor("first", type, 300_001), tensor("none", type, 0), tensor("last", type, 20_000)));
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void parts_areTheWholeText(DataType type) {
        OutputForms forms = OutputForms.JSON.with(NonFinite.STRING);
        RestBody whole = new JsonResponseText(allocator, answer(type), forms).whole();
        JsonResponseText text = new JsonResponseText(allocator, answer(type), forms);
        ByteBuf parts = allocator.directBuffer();
        for (ByteBuf part = text.next(); part != null; part = text.next()) {
            assertThat(part.readableBytes()).isBetween(1, 512 << 10);
            parts.writeBytes(part);
            part.release();
        }
        assertThat(parts.equals(whole.content())).isTrue();
        parts.release();
        whole.release();
    }

    @Test
    void whatCannotBeWrittenInParts_isNot() {
        for (OutputForms forms : List.of(OutputForms.BINARY, OutputForms.JSON.with(NonFinite.ERROR))) {
            JsonResponseText text = new JsonResponseText(allocator, answer(DataType.FP32), forms);
            assertThat(text.inParts()).isFalse();
            text.release();
        }
        JsonResponseText text = new JsonResponseText(allocator, answer(DataType.FP32), OutputForms.JSON);
        assertThat(text.inParts()).isTrue();
        text.release();
    }

    @Test
    void textThatIsGivenUp_holdsNothing() {
        JsonResponseText text = new JsonResponseText(allocator, answer(DataType.INT32), OutputForms.JSON);
        requireNonNull(text.next()).release();
        text.release();
        text.release();
        assertThat(text.next()).isNull();
    }
}

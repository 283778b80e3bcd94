package dev.isthmus.transcoder.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.testing.Samples;
import dev.isthmus.transcoder.compare.OutputComparison.Elements;
import dev.isthmus.transcoder.compare.OutputComparison.Numbers;
import dev.isthmus.transcoder.compare.OutputComparison.Reason;
import dev.isthmus.transcoder.compare.OutputComparison.Unlike;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.FieldSource;

class TensorComparisonTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    static final List<Samples> SAMPLES = Samples.ALL;

    /** Buffer layouts of the same bytes, each after bytes that do not belong to the tensor. */
    private static final List<Function<byte[], ByteBuf>> LAYOUTS = List.of(
            raw -> ALLOCATOR.heapBuffer().writeZero(3).skipBytes(3).writeBytes(raw),
            raw -> ALLOCATOR.directBuffer().writeZero(3).skipBytes(3).writeBytes(raw),
            raw -> Unpooled.wrappedBuffer(raw).asReadOnly(),
            TensorComparisonTest::byteByByte);

    private static ByteBuf byteByByte(byte[] raw) {
        var parts = ALLOCATOR.compositeBuffer(Integer.MAX_VALUE);
        for (byte b : raw) {
            parts.addComponent(true, ALLOCATOR.buffer(1).writeByte(b));
        }
        return parts;
    }

    private static Tensor tensor(String name, DataType type, Shape shape, ByteBuf data) {
        return new Tensor(name, type, shape, Map.of(), data);
    }

    private static Tensor empty(String name, DataType type, long... shape) {
        return tensor(name, type, Shape.of(shape), Unpooled.EMPTY_BUFFER);
    }

    private static InferResponse answer(Tensor... outputs) {
        return new InferResponse(ModelRef.of("m"), "", Map.of(), List.of(outputs));
    }

    private static List<OutputComparison> compared(InferResponse first, InferResponse second) {
        try {
            return TensorComparison.of(first, second);
        } finally {
            first.release();
            second.release();
        }
    }

    private static OutputComparison compared(DataType type, Shape shape, ByteBuf first, ByteBuf second) {
        List<OutputComparison> all =
                compared(answer(tensor("x", type, shape, first)), answer(tensor("x", type, shape, second)));
        assertThat(all).hasSize(1);
        return all.getFirst();
    }

    private static ByteBuf bytes(int... bytes) {
        ByteBuf buffer = ALLOCATOR.buffer();
        Arrays.stream(bytes).forEach(buffer::writeByte);
        return buffer;
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void sameElements_areEqualHoweverTheyLie(Samples sample) {
        for (Shape shape : List.of(Shape.of(6), Shape.of(2, 3), Shape.of(3, 1, 2), Shape.of(6, 1))) {
            for (Function<byte[], ByteBuf> first : LAYOUTS) {
                for (Function<byte[], ByteBuf> second : LAYOUTS) {
                    OutputComparison result =
                            compared(sample.type(), shape, first.apply(sample.raw()), second.apply(sample.raw()));
                    assertThat(result).isEqualTo(equal(sample.type(), 6)).matches(OutputComparison::equal);
                }
            }
        }
    }

    private static OutputComparison equal(DataType type, long elements) {
        return type == DataType.BOOL || type == DataType.BYTES
                ? new Elements("x", type, elements, elements)
                : new Numbers("x", type, elements, 0, 1, 1);
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void oneElementChanged_isSeenHoweverTheyLie(Samples sample) {
        byte[] changed = sample.raw().clone();
        // The last byte has the last element's sign or text; for BOOL it is true or false.
        changed[changed.length - 1] ^= 1;
        OutputComparison expected = compared(
                sample.type(), Shape.of(6), Unpooled.copiedBuffer(sample.raw()), Unpooled.copiedBuffer(changed));
        assertThat(expected).matches(result -> !result.equal());
        if (expected instanceof Elements elements) {
            assertThat(elements.equalElements()).isEqualTo(5);
            assertThat(elements.equalShare()).isEqualTo(5 / 6.0);
        }
        for (Function<byte[], ByteBuf> layout : LAYOUTS) {
            assertThat(compared(sample.type(), Shape.of(6), layout.apply(sample.raw()), layout.apply(changed)))
                    .isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @EnumSource
    void noElements_areEqual(DataType type) {
        for (Shape shape : List.of(Shape.of(0), Shape.of(0, 3), Shape.of(3, 0))) {
            OutputComparison result = compared(type, shape, Unpooled.EMPTY_BUFFER, ALLOCATOR.buffer());
            assertThat(result).isEqualTo(equal(type, 0)).matches(OutputComparison::equal);
        }
        assertThat(new Elements("x", DataType.BOOL, 0, 0).equalShare()).isOne();
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void scalars_areCompared(Samples sample) {
        DataType type = sample.type();
        byte[] one = type == DataType.BYTES ? new byte[] {1, 0, 0, 0, 'a'} : new byte[type.size()];
        byte[] other = one.clone();
        other[other.length - 1] = 1;
        ByteBuf first = Unpooled.copiedBuffer(one);
        assertThat(compared(type, Shape.SCALAR, first.retainedDuplicate(), first))
                .isEqualTo(equal(type, 1));
        OutputComparison result =
                compared(type, Shape.SCALAR, Unpooled.copiedBuffer(one), Unpooled.copiedBuffer(other));
        assertThat(result).matches(differing -> !differing.equal());
        if (result instanceof Numbers numbers) {
            assertThat(numbers.sameArgmax()).isOne();
            assertThat(numbers.cosine()).isZero();
        }
    }

    @Test
    void outputs_areFoundByNameInAnyOrder() {
        InferResponse first = answer(
                tensor("a", DataType.UINT8, Shape.of(1), bytes(1)),
                tensor("b", DataType.UINT8, Shape.of(1), bytes(2)),
                empty("only-first", DataType.UINT8, 0));
        InferResponse second = answer(
                empty("only-second", DataType.UINT8, 0),
                tensor("b", DataType.UINT8, Shape.of(1), bytes(2)),
                tensor("a", DataType.UINT8, Shape.of(1), bytes(1)));
        assertThat(compared(first, second))
                .containsExactly(
                        new Numbers("a", DataType.UINT8, 1, 0, 1, 1),
                        new Numbers("b", DataType.UINT8, 1, 0, 1, 1),
                        new Unlike("only-first", Reason.NOT_IN_SECOND),
                        new Unlike("only-second", Reason.NOT_IN_FIRST));
    }

    @Test
    void answersWithoutOutputs_haveNothingToCompare() {
        assertThat(compared(answer(), answer())).isEmpty();
    }

    @Test
    void otherDatatypeOrShape_isNamed() {
        InferResponse first = answer(empty("t", DataType.FP32, 0), empty("s", DataType.FP32, 0, 2));
        InferResponse second = answer(empty("t", DataType.FP16, 0), empty("s", DataType.FP32, 2, 0));
        assertThat(compared(first, second))
                .containsExactly(new Unlike("t", Reason.DATATYPE), new Unlike("s", Reason.SHAPE))
                .noneMatch(OutputComparison::equal);
    }

    @Test
    void sharedMemory_isNotCompared() {
        Tensor shared = new Tensor(
                "x",
                DataType.UINT8,
                Shape.of(1),
                Map.of(Tensor.SHARED_MEMORY_REGION, new Parameter.Text("r")),
                Unpooled.EMPTY_BUFFER);
        Unlike expected = new Unlike("x", Reason.SHARED_MEMORY);
        Tensor plain = tensor("x", DataType.UINT8, Shape.of(1), bytes(1));
        assertThat(compared(answer(shared), answer(plain.retained()))).containsExactly(expected);
        assertThat(compared(answer(plain), answer(shared))).containsExactly(expected);
        assertThat(compared(answer(shared), answer(shared))).containsExactly(expected);
    }

    @Test
    void comparison_movesNoIndicesAndHoldsNothing() {
        InferResponse first = answer(tensor("x", DataType.UINT8, Shape.of(2), bytes(1, 2)));
        InferResponse second = answer(tensor("x", DataType.UINT8, Shape.of(2), bytes(2, 1)));
        TensorComparison.of(first, second);
        for (InferResponse answer : List.of(first, second)) {
            ByteBuf data = answer.outputs().getFirst().data();
            assertThat(data.readableBytes()).isEqualTo(2);
            answer.release();
            assertThat(data.refCnt()).isZero();
        }
    }

    @Test
    void bools_areEqualWhereBothAreTrue() {
        assertThat(compared(DataType.BOOL, Shape.of(4), bytes(0, 1, 2, 0), bytes(0, 255, 1, 1)))
                .isEqualTo(new Elements("x", DataType.BOOL, 4, 3));
    }

    @Test
    void byteStrings_ofOtherLengths_areComparedOneByOne() {
        ByteBuf first = bytes(2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 'c', 1, 0, 0, 0, 'd');
        ByteBuf second = bytes(1, 0, 0, 0, 'a', 0, 0, 0, 0, 2, 0, 0, 0, 'c', 'c', 1, 0, 0, 0, 'd');
        assertThat(compared(DataType.BYTES, Shape.of(2, 2), first, second))
                .isEqualTo(new Elements("x", DataType.BYTES, 4, 2));
    }

    @Test
    void largeTensors_areComparedToTheLastElement() {
        ByteBuf first = ALLOCATOR.directBuffer(4 << 20).writeZero(4 << 20);
        ByteBuf second = ALLOCATOR.directBuffer(4 << 20).writeZero(4 << 20).setFloatLE(4 * ((1 << 20) - 1), 2);
        Numbers numbers = (Numbers) compared(DataType.FP32, Shape.of(1024, 1024), first, second);
        assertThat(numbers.maxDifference()).isEqualTo(2);
        assertThat(numbers.cosine()).isZero();
        assertThat(numbers.sameArgmax()).isEqualTo(1023 / 1024.0, within(0.0));
    }
}

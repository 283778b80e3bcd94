package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.ALLOCATOR;
import static dev.isthmus.local.ort.Fixtures.aligned;
import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.load;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which input and output tensors are copied, and who owns their memory. */
class CopyCounterTest {
    private static final int SIZE = 1 << 20;
    private static final int COUNT = SIZE / Float.BYTES;

    private static byte[] mebibyte() {
        byte[] raw = new byte[SIZE];
        new SplittableRandom(1).nextBytes(raw);
        return raw;
    }

    private static void assertNothingCopied(OnnxModel model, Tensor input) {
        List<Tensor> outputs = run(model, request(input));
        assertThat(outputs.get(0).data().isDirect()).isTrue();
        assertThat(ByteBufUtil.getBytes(outputs.get(0).data())).isEqualTo(mebibyte());
        assertThat(model.copies().gathered()).isZero();
        assertThat(model.copies().copiedOut()).isZero();
        outputs.forEach(Tensor::release);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 64})
    void mebibyte_inOnePiece_ofAKnownShape_isNotCopied(int offset) {
        OnnxModel model = load("large");
        assertNothingCopied(model, tensor("x", DataType.FP32, aligned(offset, mebibyte()), COUNT));
        model.release();
    }

    @Test
    void mebibyte_ofAnyShape_isNotCopied() {
        OnnxModel model = load("identity_fp32");
        ByteBuf body = aligned(0, mebibyte());
        assertNothingCopied(model, tensor("INPUT0", DataType.FP32, body, 1024, 256));
        model.release();
    }

    @Test
    void mebibyte_inPartsThatFollowEachOther_isNotCopied() {
        OnnxModel model = load("large");
        ByteBuf body = aligned(0, mebibyte());
        CompositeByteBuf parts = ALLOCATOR.compositeBuffer();
        parts.addComponent(true, body.readRetainedSlice(1001));
        parts.addComponent(true, body.readRetainedSlice(500_000));
        parts.addComponent(true, body.readRetainedSlice(body.readableBytes()));
        body.release();
        assertNothingCopied(model, tensor("x", DataType.FP32, parts, COUNT));
        model.release();
    }

    @Test
    void parts_withAGapOrOutOfOrder_areGathered() {
        ByteBuf body = ALLOCATOR.directBuffer().writeZero(24);
        CompositeByteBuf gap = ALLOCATOR.compositeBuffer();
        gap.addComponent(true, body.retainedSlice(0, 8)).addComponent(true, body.retainedSlice(16, 8));
        CompositeByteBuf swapped = ALLOCATOR.compositeBuffer();
        swapped.addComponent(true, body.retainedSlice(8, 8)).addComponent(true, body.retainedSlice(0, 8));
        assertThat(NativeMemory.of(gap)).isEqualTo(NativeMemory.NONE);
        assertThat(NativeMemory.of(swapped)).isEqualTo(NativeMemory.NONE);
        gap.release();
        swapped.release();
        body.release();
    }

    @Test
    void heap_isGathered() {
        OnnxModel model = load("large");
        List<Tensor> outputs =
                run(model, request(tensor("x", DataType.FP32, Unpooled.wrappedBuffer(mebibyte()), COUNT)));
        assertThat(model.copies().gathered()).isEqualTo(SIZE);
        assertThat(ByteBufUtil.getBytes(outputs.get(0).data())).isEqualTo(mebibyte());
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void bytes_areCopied_forTheyAreLaidOutInAnotherWay() {
        OnnxModel model = load("identity_bytes");
        byte[] raw = Fixtures.elements("a", "bc");
        List<Tensor> outputs = run(model, request(tensor("INPUT0", DataType.BYTES, raw, 1, 2)));
        assertThat(model.copies().gathered()).isEqualTo(raw.length);
        assertThat(model.copies().copiedOut()).isEqualTo(raw.length);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void knownShapes_areThoseOfTheRequest() {
        OnnxModel model = load("named");
        float[] ones = {1, 1, 1, 1, 1, 1, 1, 1};
        List<Tensor> outputs = run(model, request(floats("y", ones, 2, 4), floats("x", ones, 2, 4)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(2, 4));
        assertThat(outputs.get(0).data().getFloatLE(28)).isEqualTo(2f);
        assertThat(outputs.get(1).data().getLongLE(0)).isEqualTo(2);
        assertThat(outputs.get(1).data().getLongLE(8)).isEqualTo(4);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void namedExtentsThatDisagree_areLeftToTheModel() {
        OnnxModel model = load("named");
        float[] row = {1, 2, 3, 4};
        float[] rows = {1, 1, 1, 1, 1, 1, 1, 1};
        List<Tensor> outputs = run(model, request(List.of("sum"), floats("x", row, 1, 4), floats("y", rows, 2, 4)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(2, 4));
        assertThat(outputs.get(0).data().getFloatLE(28)).isEqualTo(5f);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void modelThatStatesAWrongShape_isTakenAtWhatItGives() {
        OnnxModel model = load("liar");
        for (int i = 0; i < 2; i++) {
            List<Tensor> outputs = run(model, request(floats("x", new float[] {0, 1, 1}, 3)));
            assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(2));
            assertThat(outputs.get(0).data().getLongLE(8)).isEqualTo(2);
            outputs.forEach(Tensor::release);
        }
        model.release();
    }

    @Test
    void inputHandedThrough_outlivesTheRequest() {
        OnnxModel model = load("through");
        ByteBuf body = aligned(0, mebibyte());
        ByteBuf kept = body.retainedDuplicate();
        List<Tensor> outputs = run(model, request(tensor("x", DataType.FP32, body, COUNT)));
        kept.setZero(0, SIZE).release();
        assertThat(ByteBufUtil.getBytes(outputs.get(0).data())).isEqualTo(mebibyte());
        assertThat(model.copies().copiedOut()).isEqualTo(SIZE);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void smallOutput_isCopied_andDoesNotHoldTheModel() {
        OnnxModel model = load("identity_fp32");
        Tensor output =
                run(model, request(floats("INPUT0", new float[] {1, 2}, 1, 2))).get(0);
        model.release();
        assertThat(model.closed()).isTrue();
        assertThat(output.data().getFloatLE(4)).isEqualTo(2f);
        output.release();
    }

    @Test
    void output_keepsTheModelOpen_untilAllOfItIsReleased() {
        OnnxModel model = load("identity_fp32");
        ByteBuf body = aligned(0, mebibyte());
        Tensor output = run(model, request(tensor("INPUT0", DataType.FP32, body, 1, COUNT)))
                .get(0);
        ByteBuf part = output.data().retainedSlice(SIZE - 4, 4);
        model.release();
        output.release();
        assertThat(model.closed()).isFalse();
        assertThat(ByteBufUtil.getBytes(part)).isEqualTo(Arrays.copyOfRange(mebibyte(), SIZE - 4, SIZE));
        part.release();
        assertThat(model.closed()).isTrue();
        assertThat(model.retain()).isFalse();
        Awaitility.await()
                .until(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("isthmus-local-close")));
    }
}

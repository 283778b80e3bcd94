package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Runs at the limit of direct memory, at which Netty throws an error. */
class FailedAllocationTest {

    /** Allocates so many buffers. */
    private static final class LimitedAllocator extends AbstractByteBufAllocator {
        private final List<ByteBuf> allocated = new ArrayList<>();
        private final int most;

        LimitedAllocator(int most) {
            super(true);
            this.most = most;
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            if (allocated.size() == most) {
                throw new OutOfMemoryError("this is a test");
            }
            allocated.add(UnpooledByteBufAllocator.DEFAULT.directBuffer(initialCapacity, maxCapacity));
            return allocated.getLast();
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            throw new IllegalStateException("no run needs one");
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    /** @param buffers the number of them that a run needs */
    private static void assertNothingLeft(OnnxModel model, int buffers, Tensor... inputs) {
        InferRequest request = request(inputs);
        try (RunHandle handle = new RunHandle()) {
            for (int most = 0; most < buffers; most++) {
                LimitedAllocator allocator = new LimitedAllocator(most);
                assertThatThrownBy(() -> model.run(request, handle, allocator)).isInstanceOf(OutOfMemoryError.class);
                assertThat(allocator.allocated).hasSize(most).allMatch(data -> data.refCnt() == 0);
            }
            model.run(request, handle, new LimitedAllocator(buffers)).forEach(Tensor::release);
        } finally {
            request.release();
            model.release();
        }
    }

    /** On the heap, from where a run copies it. */
    private static Tensor onHeap(String name, DataType type, long... shape) {
        return Fixtures.tensor(name, type, Unpooled.wrappedBuffer(new byte[16 * type.size()]), shape);
    }

    @Test
    void inputsAndPreallocatedOutputs_areReleased() {
        OnnxModel model = OnnxModel.load(
                Fixtures.source("simple", Path.of("src/main/resources/models/simple/1/model.onnx")), "cpu");
        assertNothingLeft(model, 4, onHeap("INPUT0", DataType.INT32, 1, 16), onHeap("INPUT1", DataType.INT32, 1, 16));
    }

    @Test
    void copiedOutputs_areReleased() {
        OnnxModel model = Graphs.load(Graphs.model(Graphs.graph(
                        List.of(OnnxProto.node("Abs", "y", "x"), OnnxProto.node("Neg", "z", "x")),
                        List.of(OnnxProto.value("x", DataType.FP32, -1)),
                        OnnxProto.value("y", DataType.FP32, -1))
                .toBuilder()
                .addOutput(OnnxProto.value("z", DataType.FP32, -1))
                .build()));
        assertNothingLeft(model, 3, onHeap("x", DataType.FP32, 16));
    }
}

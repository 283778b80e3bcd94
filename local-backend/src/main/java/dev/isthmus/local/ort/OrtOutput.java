package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * An output where ONNX Runtime has put it. The value is released when the last reader releases this, which may be on any
 * thread, and the model stays open until then.
 */
final class OrtOutput extends UnpooledDirectByteBuf {
    private final OnnxModel model;
    private final long value;

    private OrtOutput(OnnxModel model, long value, long start, int bytes, ByteBufAllocator allocator) {
        super(allocator, NativeMemory.ALL.asSlice(start, bytes).asByteBuffer(), bytes);
        this.model = model;
        this.value = value;
    }

    /**
     * A buffer on memory of a value.
     *
     * @param model in use by the caller
     * @param value taken
     */
    static ByteBuf of(OnnxModel model, long value, long start, int bytes, ByteBufAllocator allocator) {
        if (!model.retain()) {
            throw new IllegalStateException("the model was closed under a run");
        }
        return new OrtOutput(model, value, start, bytes, allocator);
    }

    @Override
    protected void deallocate() {
        super.deallocate();
        OrtApi.release(value);
        model.releaseLate();
    }
}

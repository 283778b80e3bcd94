package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * An output in ONNX Runtime's memory. The last release of this buffer, on any thread, releases the value; the model
 * stays open until then.
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
     * A buffer on a value's memory.
     *
     * @param model retained by the caller
     * @param value taken
     */
    static ByteBuf of(OnnxModel model, long value, long start, int bytes, ByteBufAllocator allocator) {
        if (!model.retain()) {
            throw new IllegalStateException("the model was closed during a run");
        }
        return new OrtOutput(model, value, start, bytes, allocator);
    }

    @Override
    protected void deallocate() {
        super.deallocate();
        OrtApi.release(value);
        model.releaseAsync();
    }
}

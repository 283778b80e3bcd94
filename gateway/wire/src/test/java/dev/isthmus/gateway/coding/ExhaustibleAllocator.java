package dev.isthmus.gateway.coding;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;

/** An allocator whose memory ends when a test says so: then only small buffers fit. */
public final class ExhaustibleAllocator extends AbstractByteBufAllocator {
    private static final int SMALL = 32 << 10;

    private boolean exhausted;

    public ExhaustibleAllocator() {
        super(true);
    }

    public void exhaust() {
        exhausted = true;
    }

    private void require(int capacity) {
        if (exhausted && capacity > SMALL) {
            throw new OutOfMemoryError("direct");
        }
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        require(initialCapacity);
        return new UnpooledHeapByteBuf(this, initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        require(initialCapacity);
        return toLeakAwareBuffer(new UnpooledDirectByteBuf(this, initialCapacity, maxCapacity));
    }

    @Override
    public boolean isDirectBufferPooled() {
        return false;
    }
}

package dev.isthmus.testing;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.util.concurrent.atomic.AtomicInteger;

/** An allocator of which one allocation fails, as if direct memory had run out. Thread-safe. */
public final class FailingAllocator extends AbstractByteBufAllocator {
    private final AtomicInteger held = new AtomicInteger();
    private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);

    /** After this many further allocations, the growth of buffers included, one fails. */
    public void failAfter(int allocations) {
        left.set(allocations);
    }

    /** Whether it has failed since then. */
    public boolean failed() {
        return left.get() < 0;
    }

    /** The number of buffers that are not released. */
    public int held() {
        return held.get();
    }

    @Override
    protected ByteBuf newHeapBuffer(int initial, int most) {
        return new CountedBuffer(initial, most);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initial, int most) {
        return new CountedBuffer(initial, most);
    }

    @Override
    public boolean isDirectBufferPooled() {
        return false;
    }

    private final class CountedBuffer extends UnpooledHeapByteBuf {
        CountedBuffer(int initial, int most) {
            super(FailingAllocator.this, initial, most);
        }

        @Override
        protected byte[] allocateArray(int size) {
            if (left.decrementAndGet() == -1) {
                throw new OutOfMemoryError("of memory outside the heap");
            }
            held.incrementAndGet();
            return super.allocateArray(size);
        }

        @Override
        protected void freeArray(byte[] array) {
            held.decrementAndGet();
        }
    }
}

package dev.isthmus.gateway.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Allocates read buffers of the size that a read loop usually fills. If one read fills only a part of its buffer and
 * that part is retained, the next read uses the rest of the same buffer, so that retained data pins little more memory
 * than its length.
 *
 * @param sizes predicts the size from earlier reads
 */
public record PackedReadAllocator(AdaptiveRecvByteBufAllocator sizes) implements RecvByteBufAllocator {
    /** The rest of a buffer is used if it is at least the predicted size divided by this. */
    private static final int MIN_FRACTION = 4;

    @Override
    @SuppressWarnings("deprecation") // called by Netty's channels
    public PackedReadHandle newHandle() {
        return new PackedReadHandle((ExtendedHandle) sizes.newHandle());
    }

    /** The reads of one channel. Holds no buffer between read loops. */
    @SuppressWarnings("deprecation") // see above
    public static final class PackedReadHandle extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle delegate;
        private @Nullable ByteBuf block;
        /** Bytes of the block already read into. */
        private int filled;

        private PackedReadHandle(ExtendedHandle delegate) {
            super(delegate);
            this.delegate = delegate;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf last = block;
            int size = delegate.guess();
            if (last != null && last.refCnt() > 1 && last.capacity() - filled >= size / MIN_FRACTION) {
                return last.slice(filled, last.capacity() - filled)
                        .setIndex(0, 0)
                        .retain();
            }
            drop();
            ByteBuf fresh = allocator.ioBuffer(size, size);
            block = fresh.retain();
            filled = 0;
            return fresh;
        }

        @Override
        public void lastBytesRead(int bytes) {
            delegate.lastBytesRead(bytes);
            filled += Math.max(bytes, 0);
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return delegate.continueReading(more);
        }

        @Override
        public void readComplete() {
            drop();
            delegate.readComplete();
        }

        /** Releases the current buffer: the read loop has ended, or continues elsewhere. */
        public void drop() {
            ByteBuf dropped = block;
            if (dropped != null) {
                block = null;
                dropped.release();
            }
        }
    }
}

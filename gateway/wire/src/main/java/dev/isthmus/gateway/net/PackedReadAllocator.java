package dev.isthmus.gateway.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads into buffers of what a turn of reads usually brings in all. Where one read of a turn brought less, and somebody holds
 * what it brought, the next one goes into the rest of the same buffer, so that what is held takes little more memory than it
 * is long.
 *
 * @param sizes learns what reads bring
 */
public record PackedReadAllocator(AdaptiveRecvByteBufAllocator sizes) implements RecvByteBufAllocator {
    /** A rest is read into that is not less than such a part of what is usual. */
    private static final int WORTH = 4;

    @Override
    @SuppressWarnings("deprecation") // it is what channels call
    public PackedReadHandle newHandle() {
        return new PackedReadHandle((ExtendedHandle) sizes.newHandle());
    }

    /** The reads of one channel. Nothing is kept from one turn to the next. */
    @SuppressWarnings("deprecation") // see above
    public static final class PackedReadHandle extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle usual;
        private @Nullable ByteBuf block;
        /** Bytes of the block that have been read into. */
        private int filled;

        private PackedReadHandle(ExtendedHandle usual) {
            super(usual);
            this.usual = usual;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf last = block;
            int size = usual.guess();
            if (last != null && last.refCnt() > 1 && last.capacity() - filled >= size / WORTH) {
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
            usual.lastBytesRead(bytes);
            filled += Math.max(bytes, 0);
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return usual.continueReading(more);
        }

        @Override
        public void readComplete() {
            drop();
            usual.readComplete();
        }

        /** The turn goes on elsewhere, or is over. */
        public void drop() {
            ByteBuf dropped = block;
            if (dropped != null) {
                block = null;
                dropped.release();
            }
        }
    }
}

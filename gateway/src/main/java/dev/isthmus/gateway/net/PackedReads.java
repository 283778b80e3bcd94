package dev.isthmus.gateway.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads of one connection into buffers of what reads usually bring. Where a read brought less, and somebody holds what it
 * brought, the next one goes into the rest of the same buffer, so that what is held takes little more memory than it is long.
 * Used on the connection's loop.
 */
public final class PackedReads implements RecvByteBufAllocator {
    /** A rest is read into that is not less than such a part of what a read usually brings. */
    private static final int WORTH = 4;

    private final AdaptiveRecvByteBufAllocator sizes;
    private @Nullable ByteBuf block;
    /** Bytes of the block that have been read into. */
    private int filled;

    private boolean closed;

    private PackedReads(AdaptiveRecvByteBufAllocator sizes) {
        this.sizes = sizes;
    }

    /** The reads of a channel, which keep nothing once it is closed. */
    public static PackedReads of(Channel channel, AdaptiveRecvByteBufAllocator sizes) {
        PackedReads reads = new PackedReads(sizes);
        channel.closeFuture().addListener(closed -> reads.close());
        return reads;
    }

    private void close() {
        closed = true;
        drop();
    }

    /** Keeps nothing until the next read. */
    public void drop() {
        if (block != null) {
            block.release();
            block = null;
        }
    }

    private ByteBuf space(ByteBufAllocator allocator, int usual) {
        ByteBuf last = block;
        if (last != null) {
            int room = last.capacity() - filled;
            if (last.refCnt() > 1 && room >= usual / WORTH) {
                // Nobody reads into what comes behind it any more: it is this read's.
                return last.slice(filled, room).setIndex(0, 0).retain();
            }
            drop();
        }
        ByteBuf fresh = allocator.ioBuffer(usual, usual);
        if (!closed) {
            block = fresh.retain();
            filled = 0;
        }
        return fresh;
    }

    @Override
    @SuppressWarnings("deprecation") // it is what channels call
    public Handle newHandle() {
        return new Reads((ExtendedHandle) sizes.newHandle());
    }

    @SuppressWarnings("deprecation") // see above
    private final class Reads extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle usual;

        Reads(ExtendedHandle usual) {
            super(usual);
            this.usual = usual;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            return space(allocator, usual.guess());
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
            usual.readComplete();
            if (block != null && block.refCnt() == 1) {
                drop();
            }
        }
    }
}

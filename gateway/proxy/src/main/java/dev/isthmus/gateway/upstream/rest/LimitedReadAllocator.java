package dev.isthmus.gateway.upstream.rest;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/** Has one channel read as it does usually, or no more than {@link #MOST} bytes at once. For the channel's event loop. */
final class LimitedReadAllocator implements RecvByteBufAllocator {
    /** Of what waits for a client, in bytes: what is read is kept as a whole until all of it has gone. */
    private static final int MOST = 128 * 1024;

    private final RecvByteBufAllocator usual;
    private boolean limited;

    LimitedReadAllocator(RecvByteBufAllocator usual) {
        this.usual = usual;
    }

    void limit(boolean on) {
        limited = on;
    }

    @Override
    @SuppressWarnings("deprecation") // it is what channels call
    public Handle newHandle() {
        return new LimitedReadHandle((ExtendedHandle) usual.newHandle());
    }

    @SuppressWarnings("deprecation") // see above
    private final class LimitedReadHandle extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle handle;

        LimitedReadHandle(ExtendedHandle handle) {
            super(handle);
            this.handle = handle;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            return limited ? allocator.ioBuffer(guess()) : handle.allocate(allocator);
        }

        @Override
        public int guess() {
            return limited ? Math.min(handle.guess(), MOST) : handle.guess();
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return handle.continueReading(more);
        }
    }
}

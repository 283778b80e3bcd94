package dev.isthmus.gateway.upstream.rest;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/** Optionally limits a channel's reads to {@link #MAX_READ} bytes each. Used on the channel's event loop. */
final class LimitedReadAllocator implements RecvByteBufAllocator {
    /**
     * The read size while a slow client is waited for, in bytes: a read buffer is kept until all of it was forwarded.
     */
    private static final int MAX_READ = 128 * 1024;

    private final RecvByteBufAllocator delegate;
    private boolean limited;

    LimitedReadAllocator(RecvByteBufAllocator delegate) {
        this.delegate = delegate;
    }

    void limit(boolean on) {
        limited = on;
    }

    @Override
    @SuppressWarnings("deprecation") // channels call it
    public Handle newHandle() {
        return new LimitedReadHandle((ExtendedHandle) delegate.newHandle());
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
            return limited ? Math.min(handle.guess(), MAX_READ) : handle.guess();
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return handle.continueReading(more);
        }
    }
}

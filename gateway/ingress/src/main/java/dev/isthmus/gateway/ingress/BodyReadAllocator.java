package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.PackedReadAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/**
 * Makes a connection read into its {@link BodyReadBuffer} while that requests it, and otherwise into buffers sized by
 * earlier reads.
 */
record BodyReadAllocator(PackedReadAllocator usual, BodyReadBuffer bodyBuffer) implements RecvByteBufAllocator {

    @Override
    @SuppressWarnings("deprecation") // channels call it
    public Handle newHandle() {
        return new ReadHandle(usual.newHandle(), bodyBuffer);
    }

    /** The handle of ordinary reads does not learn from reads into the body buffer. */
    @SuppressWarnings("deprecation") // see above
    private static final class ReadHandle extends DelegatingHandle implements ExtendedHandle {
        private final PackedReadAllocator.PackedReadHandle usual;
        private final BodyReadBuffer bodyBuffer;
        private boolean readsBody;
        private int attempted;
        private int last;

        ReadHandle(PackedReadAllocator.PackedReadHandle usual, BodyReadBuffer bodyBuffer) {
            super(usual);
            this.usual = usual;
            this.bodyBuffer = bodyBuffer;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf space = bodyBuffer.space(allocator);
            readsBody = space != null;
            if (space == null) {
                return usual.allocate(allocator);
            }
            usual.drop();
            return space;
        }

        @Override
        public void attemptedBytesRead(int bytes) {
            attempted = bytes;
            if (!readsBody) {
                usual.attemptedBytesRead(bytes);
            }
        }

        @Override
        public int attemptedBytesRead() {
            return attempted;
        }

        @Override
        public void lastBytesRead(int bytes) {
            last = bytes;
            if (!readsBody) {
                usual.lastBytesRead(bytes);
            } else if (bytes > 0) {
                bodyBuffer.read(bytes);
            }
        }

        @Override
        public int lastBytesRead() {
            return last;
        }

        @Override
        public boolean continueReading() {
            return usual.continueReading(() -> last > 0 && last == attempted);
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return usual.continueReading(more);
        }

        @Override
        public void readComplete() {
            bodyBuffer.readComplete();
            if (!readsBody) {
                usual.readComplete();
            }
        }
    }
}

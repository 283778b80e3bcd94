package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.PackedReadAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/** Has a connection read into its {@link BodyReadBuffer} while that wants it, and else into buffers of what reads usually bring. */
record BodyReadAllocator(PackedReadAllocator usual, BodyReadBuffer landing) implements RecvByteBufAllocator {

    @Override
    @SuppressWarnings("deprecation") // it is what channels call
    public Handle newHandle() {
        return new ReadHandle(usual.newHandle(), landing);
    }

    /** The usual handle learns nothing of reads that do not go to its buffers. */
    @SuppressWarnings("deprecation") // see above
    private static final class ReadHandle extends DelegatingHandle implements ExtendedHandle {
        private final PackedReadAllocator.PackedReadHandle usual;
        private final BodyReadBuffer landing;
        private boolean landed;
        private int attempted;
        private int last;

        ReadHandle(PackedReadAllocator.PackedReadHandle usual, BodyReadBuffer landing) {
            super(usual);
            this.usual = usual;
            this.landing = landing;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf space = landing.space(allocator);
            landed = space != null;
            if (space == null) {
                return usual.allocate(allocator);
            }
            usual.drop();
            return space;
        }

        @Override
        public void attemptedBytesRead(int bytes) {
            attempted = bytes;
            if (!landed) {
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
            if (!landed) {
                usual.lastBytesRead(bytes);
            } else if (bytes > 0) {
                landing.read(bytes);
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
            landing.readComplete();
            if (!landed) {
                usual.readComplete();
            }
        }
    }
}

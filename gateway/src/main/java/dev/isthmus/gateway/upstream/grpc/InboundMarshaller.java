package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Detachable;
import io.grpc.HasByteBuffer;
import io.grpc.MethodDescriptor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/** Takes encoded messages from grpc-java as they are: the bytes stay in grpc-java's buffers where it allows. */
final class InboundMarshaller implements MethodDescriptor.Marshaller<ByteBuf> {
    @Override
    public InputStream stream(ByteBuf message) {
        throw new UnsupportedOperationException("responses are only received");
    }

    @Override
    public ByteBuf parse(InputStream stream) {
        try {
            int length = stream.available();
            if (length == 0) {
                return Unpooled.EMPTY_BUFFER;
            }
            boolean views = stream instanceof HasByteBuffer buffers
                    && buffers.byteBufferSupported()
                    && stream.markSupported()
                    && stream instanceof Detachable;
            return views ? view(stream, length) : copy(stream, length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ByteBuf copy(InputStream stream, int length) throws IOException {
        ByteBuf copy = ByteBufAllocator.DEFAULT.buffer(length, length);
        try {
            while (copy.isWritable()) {
                if (copy.writeBytes(stream, copy.writableBytes()) < 0) {
                    throw new IOException("the message ends early");
                }
            }
            return copy;
        } catch (IOException | RuntimeException e) {
            copy.release();
            throw e;
        }
    }

    /**
     * Views of grpc-java's buffers, which live as long as the detached stream is open. The mark keeps the stream from
     * closing each buffer as it is passed.
     */
    private static ByteBuf view(InputStream stream, int length) throws IOException {
        InputStream detached = ((Detachable) stream).detach();
        Owner owner = new Owner(detached);
        CompositeByteBuf whole = ByteBufAllocator.DEFAULT.compositeBuffer(Integer.MAX_VALUE);
        try {
            detached.mark(length);
            int left = length;
            while (left > 0) {
                ByteBuffer part = ((HasByteBuffer) detached).getByteBuffer();
                if (part == null || !part.hasRemaining()) {
                    throw new IOException("the message ends early");
                }
                int size = part.remaining();
                whole.addComponent(true, Unpooled.wrappedBuffer(part.slice()));
                if (detached.skip(size) != size) {
                    throw new IOException("the message ends early");
                }
                left -= size;
            }
            detached.reset();
            whole.addComponent(true, owner);
            return whole;
        } catch (IOException | RuntimeException e) {
            whole.release();
            owner.release();
            throw e;
        }
    }

    /** An empty component whose end closes the stream that the other components are views of. */
    private static final class Owner extends UnpooledHeapByteBuf {
        private final InputStream stream;

        Owner(InputStream stream) {
            super(UnpooledByteBufAllocator.DEFAULT, 0, 0);
            this.stream = stream;
        }

        @Override
        protected void deallocate() {
            super.deallocate();
            try {
                stream.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}

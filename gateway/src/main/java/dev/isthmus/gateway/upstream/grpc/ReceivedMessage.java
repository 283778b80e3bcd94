package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Detachable;
import io.grpc.HasByteBuffer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A received message in the buffers that gRPC received it in. Its parts are views of memory that belongs to
 * {@code source}, which is closed with the last reference.
 */
final class ReceivedMessage extends CompositeByteBuf {
    private final InputStream source;

    private ReceivedMessage(InputStream source, int parts) {
        super(UnpooledByteBufAllocator.DEFAULT, true, Math.max(parts, 2));
        this.source = source;
    }

    /** The message that {@code stream} holds, taken out of it; null when its kind of stream must be copied. */
    static @Nullable ByteBuf detach(InputStream stream) {
        if (!(stream instanceof HasByteBuffer buffers)
                || !(stream instanceof Detachable detachable)
                || !buffers.byteBufferSupported()
                || !stream.markSupported()) {
            return null;
        }
        InputStream source = detachable.detach();
        try {
            return of(source);
        } catch (IOException e) {
            closeQuietly(source);
            throw new UncheckedIOException(e);
        } catch (RuntimeException e) {
            closeQuietly(source);
            throw e;
        }
    }

    private static ByteBuf of(InputStream source) throws IOException {
        List<ByteBuffer> parts = parts(source, source.available());
        ReceivedMessage message = new ReceivedMessage(source, parts.size());
        for (ByteBuffer part : parts) {
            message.addComponent(true, Unpooled.wrappedBuffer(part));
        }
        // A view, so that nobody takes the parts out of the composite (as addFlattenedComponents does): they do not
        // keep the
        // memory, which is freed with the composite.
        return message.slice();
    }

    /** Marked, because an unmarked stream frees each part as soon as it is passed. */
    private static List<ByteBuffer> parts(InputStream source, int length) throws IOException {
        List<ByteBuffer> parts = new ArrayList<>();
        source.mark(length);
        int left = length;
        while (left > 0) {
            ByteBuffer part = ((HasByteBuffer) source).getByteBuffer();
            if (part == null || !part.hasRemaining()) {
                throw new IOException("a message of " + length + " bytes ends " + left + " bytes early");
            }
            parts.add(part);
            left -= part.remaining();
            source.skipNBytes(part.remaining());
        }
        source.reset();
        return parts;
    }

    @Override
    protected void deallocate() {
        super.deallocate();
        closeQuietly(source);
    }

    private static void closeQuietly(InputStream source) {
        try {
            source.close();
        } catch (IOException e) {
            throw new UncheckedIOException("a stream over memory", e);
        }
    }
}

package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * An encoded request as the stream that gRPC wants. Owns one reference of its buffer and gives it back on the first
 * {@link #close()}: gRPC closes what it has written, the call closes what gRPC never came to write. Both may happen, and
 * while a host name is being looked up they may happen on two threads, hence the lock.
 */
final class RequestStream extends InputStream implements KnownLength, Drainable {

    /** ByteBuf's own copy to an OutputStream makes a new array for each message. */
    private static final FastThreadLocal<byte[]> CHUNK = new FastThreadLocal<>() {
        @Override
        protected byte[] initialValue() {
            return new byte[64 * 1024];
        }
    };

    private final ByteBuf content;
    private boolean closed;

    /**
     * A stream over the readable bytes.
     *
     * @param content taken
     */
    RequestStream(ByteBuf content) {
        this.content = content;
    }

    @Override
    public synchronized int available() {
        return closed ? 0 : content.readableBytes();
    }

    /** Copies what is left; gRPC has no other way out, so this is the one copy of an outbound message. */
    @Override
    public synchronized int drainTo(OutputStream target) throws IOException {
        if (closed) {
            throw new IOException("the call has ended");
        }
        int length = content.readableBytes();
        if (content.hasArray()) {
            target.write(content.array(), content.arrayOffset() + content.readerIndex(), length);
            content.skipBytes(length);
            return length;
        }
        byte[] chunk = CHUNK.get();
        while (content.isReadable()) {
            int part = Math.min(chunk.length, content.readableBytes());
            content.readBytes(chunk, 0, part);
            target.write(chunk, 0, part);
        }
        return length;
    }

    @Override
    public synchronized int read() {
        return closed || !content.isReadable() ? -1 : content.readUnsignedByte();
    }

    @Override
    public synchronized int read(byte[] target, int offset, int length) {
        if (closed || !content.isReadable()) {
            return length == 0 ? 0 : -1;
        }
        int part = Math.min(length, content.readableBytes());
        content.readBytes(target, offset, part);
        return part;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            content.release();
        }
    }
}

package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * An encoded message on its way to grpc-java. Its bytes are copied once into grpc-java's frames, which has no other door.
 * Owns the buffer until it is drained or closed; closing twice is fine, for grpc-java closes what it wrote and forgets what
 * it dropped.
 */
final class OutboundMessage extends InputStream implements KnownLength, Drainable {
    /** Passes the message itself. */
    static final MethodDescriptor.Marshaller<OutboundMessage> MARSHALLER = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(OutboundMessage message) {
            return message;
        }

        @Override
        public OutboundMessage parse(InputStream stream) {
            throw new UnsupportedOperationException("requests are only sent");
        }
    };

    private static final int CHUNK = 64 * 1024;
    private static final ThreadLocal<byte[]> COPY = ThreadLocal.withInitial(() -> new byte[CHUNK]);

    private final ByteBuf message;
    private boolean released;

    /** A message (taken). */
    OutboundMessage(ByteBuf message) {
        this.message = message;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
        int total = available();
        byte[] copy = COPY.get();
        while (available() > 0) {
            int part = Math.min(copy.length, message.readableBytes());
            message.readBytes(copy, 0, part);
            target.write(copy, 0, part);
        }
        close();
        return total;
    }

    @Override
    public int available() {
        return released ? 0 : message.readableBytes();
    }

    @Override
    public int read() {
        return available() == 0 ? -1 : message.readUnsignedByte();
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        if (available() == 0) {
            return length == 0 ? 0 : -1;
        }
        int part = Math.min(length, message.readableBytes());
        message.readBytes(into, offset, part);
        return part;
    }

    @Override
    public void close() {
        if (!released) {
            released = true;
            message.release();
        }
    }
}

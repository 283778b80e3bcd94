package dev.isthmus.gateway.upstream.grpc;

import io.grpc.MethodDescriptor.Marshaller;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** How messages pass through gRPC without being decoded. */
final class ByteMarshallers {
    private static final int COPY_CHUNK = 64 * 1024;

    private ByteMarshallers() {}

    /** Hands the request over as it is. */
    static final class Outbound implements Marshaller<RequestStream> {
        @Override
        public InputStream stream(RequestStream request) {
            return request;
        }

        @Override
        public RequestStream parse(InputStream stream) {
            throw new UnsupportedOperationException("requests are only sent");
        }
    }

    /** Gives the answer in gRPC's own buffers; copies only what was compressed. The answer's reader owns it. */
    record Inbound(ByteBufAllocator allocator) implements Marshaller<ByteBuf> {
        @Override
        public InputStream stream(ByteBuf answer) {
            throw new UnsupportedOperationException("answers are only received");
        }

        @Override
        public ByteBuf parse(InputStream stream) {
            ByteBuf detached = ReceivedMessage.detach(stream);
            return detached == null ? copy(stream) : detached;
        }

        private ByteBuf copy(InputStream stream) {
            ByteBuf copy = allocator.buffer();
            try {
                int read;
                do {
                    read = copy.writeBytes(stream, COPY_CHUNK);
                } while (read >= 0);
                return copy;
            } catch (IOException e) {
                copy.release();
                throw new UncheckedIOException(e);
            } catch (RuntimeException e) {
                copy.release();
                throw e;
            }
        }
    }
}

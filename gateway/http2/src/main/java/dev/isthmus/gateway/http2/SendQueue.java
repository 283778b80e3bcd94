package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** Data and trailers of one stream that cannot be sent yet. */
final class SendQueue {
    private final ArrayDeque<ByteBuf> buffers = new ArrayDeque<>(4);
    private long bytes;
    private boolean end;
    private @Nullable HeaderFieldList trailers;

    /** @param data taken */
    void add(ByteBuf data) {
        bytes += data.readableBytes();
        buffers.add(data);
    }

    /** The queued data ends the stream. */
    void end() {
        end = true;
    }

    /** Trailers that follow the queued data and end the stream. */
    void end(HeaderFieldList fields) {
        trailers = fields;
    }

    long bytes() {
        return bytes;
    }

    /** Whether the last DATA frame ends the stream. */
    boolean ends() {
        return end;
    }

    @Nullable
    HeaderFieldList trailers() {
        return trailers;
    }

    /** Writes the payload of a DATA frame whose header was written. */
    void write(FrameWriter writer, int length) {
        int rest = length;
        while (rest > 0) {
            ByteBuf data = buffers.element();
            int part = Math.min(rest, data.readableBytes());
            writer.payload(data, part);
            rest -= part;
            if (!data.isReadable()) {
                buffers.remove().release();
            }
        }
        bytes -= length;
    }

    void release() {
        for (ByteBuf data = buffers.poll(); data != null; data = buffers.poll()) {
            data.release();
        }
        bytes = 0;
    }
}

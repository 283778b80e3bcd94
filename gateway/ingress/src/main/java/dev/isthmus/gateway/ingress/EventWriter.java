package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Frames JSON as server-sent events (WHATWG HTML, "Server-sent events"). */
final class EventWriter {
    private static final ByteBuf START = constant("data: ");
    private static final ByteBuf END = constant("\n\n");

    private EventWriter() {}

    private static ByteBuf constant(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
        return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(direct).asReadOnly());
    }

    /** Returns the event, owned by the caller; {@code json} is taken. */
    static ByteBuf event(ByteBufAllocator allocator, ByteBuf json) {
        // A line break would end the event; in JSON it can only stand between tokens.
        for (int at = lineEnd(json, json.readerIndex()); at >= 0; at = lineEnd(json, at)) {
            json.setByte(at, ' ');
        }
        return allocator.compositeBuffer(3).addComponents(true, START.duplicate(), json, END.duplicate());
    }

    private static int lineEnd(ByteBuf json, int from) {
        return json.forEachByte(from, json.writerIndex() - from, b -> b != '\n' && b != '\r');
    }
}

package dev.isthmus.gateway.upstream.rest;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the data of events out of a stream of server-sent events (WHATWG HTML, "Server-sent events"). Other fields and
 * comments are stepped over.
 */
final class EventParser {
    private static final byte[] DATA = {'d', 'a', 't', 'a'};

    private final ByteBufAllocator allocator;
    private final long maxBytes;
    private final Runnable tooLarge;
    private @Nullable ByteBuf line;
    private @Nullable ByteBuf data;
    private boolean afterReturn;
    private boolean released;

    /**
     * A parser at the start of a stream.
     *
     * @param maxBytes of one event
     * @param tooLarge called for an event that is larger; it must throw
     */
    EventParser(ByteBufAllocator allocator, long maxBytes, Runnable tooLarge) {
        this.allocator = allocator;
        this.maxBytes = maxBytes;
        this.tooLarge = tooLarge;
    }

    /**
     * Takes the next bytes.
     *
     * @param part borrowed
     * @param events gets the data of each event that is complete, and owns it; it may release this parser
     */
    void feed(ByteBuf part, Consumer<ByteBuf> events) {
        int from = part.readerIndex();
        for (int at = from; at < part.writerIndex() && !released; at++) {
            byte b = part.getByte(at);
            if (b == '\n' || b == '\r') {
                boolean ofPair = b == '\n' && afterReturn && at == from && line == null;
                afterReturn = b == '\r';
                if (!ofPair) {
                    keep(part, from, at);
                    endLine(events);
                }
                from = at + 1;
            } else {
                afterReturn = false;
            }
        }
        keep(part, from, part.writerIndex());
    }

    private void keep(ByteBuf part, int from, int to) {
        if (from == to || released) {
            return;
        }
        ByteBuf open = line;
        if (open == null) {
            open = allocator.buffer(to - from);
            line = open;
        }
        int held = open.readableBytes() + (data == null ? 0 : data.readableBytes());
        if ((long) held + (to - from) > maxBytes) {
            tooLarge.run();
        }
        open.writeBytes(part, from, to - from);
    }

    private void endLine(Consumer<ByteBuf> events) {
        ByteBuf ended = line;
        line = null;
        if (ended == null) {
            ByteBuf event = data;
            data = null;
            if (event != null) {
                events.accept(event);
            }
            return;
        }
        if (isData(ended)) {
            int skip = ended.readableBytes() > DATA.length ? DATA.length + 1 : DATA.length;
            ended.skipBytes(skip);
            if (ended.isReadable() && ended.getByte(ended.readerIndex()) == ' ') {
                ended.skipBytes(1);
            }
            ByteBuf open = data;
            if (open == null) {
                data = ended;
                return;
            }
            open.writeByte('\n').writeBytes(ended);
        }
        ended.release();
    }

    private static boolean isData(ByteBuf line) {
        if (line.readableBytes() < DATA.length) {
            return false;
        }
        for (int i = 0; i < DATA.length; i++) {
            if (line.getByte(line.readerIndex() + i) != DATA[i]) {
                return false;
            }
        }
        return line.readableBytes() == DATA.length || line.getByte(line.readerIndex() + DATA.length) == ':';
    }

    /** Gives back what is held; what comes after that is not read. */
    void release() {
        released = true;
        if (line != null) {
            line.release();
            line = null;
        }
        if (data != null) {
            data.release();
            data = null;
        }
    }
}

package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A thing put together, uncopied, from its parts as they come. A part that begins where the one before ends in the same
 * memory makes that one longer, so that what lies in one piece stays one buffer. {@linkplain SmallParts Small parts} that
 * follow one another are copied together. Owns what it was given until {@link #take()} or {@link #release()}; it may be used
 * anew after either.
 */
public final class BufferCollector {
    private final ByteBufAllocator allocator;
    private final int mostParts;
    private @Nullable CompositeByteBuf before;
    private @Nullable ByteBuf last;
    /** Whether the last part is a copy of small ones, to which more may be added. */
    private boolean room;

    private int uncounted;
    private long bytes;

    /** A thing of any number of parts. */
    public BufferCollector(ByteBufAllocator allocator) {
        this(allocator, Integer.MAX_VALUE);
    }

    /** @param mostParts so many parts are copied into one, because a buffer of many parts is copied when it is written */
    public BufferCollector(ByteBufAllocator allocator, int mostParts) {
        this.allocator = allocator;
        this.mostParts = mostParts;
    }

    /**
     * Adds a part.
     *
     * @param part taken. Its capacity beyond its writer index tells how far its memory goes on: {@code retainedDuplicate()}
     *     of a larger buffer can be made longer by what follows, {@code retainedSlice()} cannot.
     */
    public void add(ByteBuf part) {
        ByteBuf open = last;
        bytes += part.readableBytes();
        if (!part.isReadable() || (open != null && extend(open, part))) {
            part.release();
            return;
        }
        if (open != null && SmallParts.small(part) && merge(open, part)) {
            return;
        }
        if (open != null) {
            close(open);
        }
        // A copy has room of its own; what was received is followed by somebody else's memory.
        room = SmallParts.pins(part);
        last = SmallParts.kept(allocator, part);
    }

    /** Copies a small part, which is taken, behind the one before where that has room or is small as well; whether it does. */
    private boolean merge(ByteBuf open, ByteBuf part) {
        ByteBuf to = open;
        if (!room || open.writableBytes() < part.readableBytes()) {
            if (!SmallParts.small(open)) {
                return false;
            }
            to = SmallParts.room(allocator, open.readableBytes() + part.readableBytes())
                    .writeBytes(open);
            open.release();
            last = to;
            room = true;
        }
        to.writeBytes(part);
        part.release();
        return true;
    }

    /**
     * Makes {@code open} longer by {@code part} (borrowed) where that follows it in memory; whether it does. While
     * {@code open} holds its memory, no other buffer can have an address in it that is not of the same memory.
     */
    public static boolean extend(ByteBuf open, ByteBuf part) {
        int length = part.readableBytes();
        if (length > open.capacity() - open.writerIndex()
                || !open.hasMemoryAddress()
                || !part.hasMemoryAddress()
                || open.memoryAddress() + open.writerIndex() != part.memoryAddress() + part.readerIndex()) {
            return false;
        }
        open.writerIndex(open.writerIndex() + length);
        return true;
    }

    /** Bytes of the parts since the last {@link #take()}. */
    public long bytes() {
        return bytes;
    }

    private void close(ByteBuf part) {
        CompositeByteBuf parts = before == null ? allocator.compositeBuffer(Integer.MAX_VALUE) : before;
        before = parts;
        parts.addComponent(true, part);
        if (++uncounted == mostParts) {
            uncounted = 0;
            parts.consolidate(parts.numComponents() - mostParts, mostParts);
            if (parts.numComponents() > mostParts) {
                parts.consolidate();
            }
        }
    }

    /** Shows what there is so far, in order; what is shown is borrowed. */
    public void show(Consumer<ByteBuf> to) {
        if (before != null) {
            to.accept(before);
        }
        if (last != null) {
            to.accept(last);
        }
    }

    /** What was put together, owned by the caller: a composite only where it is not in one piece. */
    public ByteBuf take() {
        ByteBuf open = last;
        CompositeByteBuf parts = before;
        last = null;
        room = false;
        before = null;
        uncounted = 0;
        bytes = 0;
        if (open == null) {
            return Unpooled.EMPTY_BUFFER;
        }
        // What lies behind it in its memory is none of its readers' business.
        return parts == null ? open.slice() : parts.addComponent(true, open);
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        take().release();
    }
}

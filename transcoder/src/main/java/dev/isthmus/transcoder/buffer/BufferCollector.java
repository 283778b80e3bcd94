package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Collects the parts of a body into one buffer without copying them. A part that continues the previous one in the same
 * memory extends it, so that contiguous memory stays one buffer. Consecutive {@linkplain SmallParts small parts} are
 * copied together. Owns the parts until {@link #take()} or {@link #release()}, after which it can be reused.
 */
public final class BufferCollector {
    private final ByteBufAllocator allocator;
    private final int maxParts;
    private @Nullable CompositeByteBuf before;
    private @Nullable ByteBuf last;
    /** Whether the last part is a copy of small parts with spare capacity. */
    private boolean appendable;

    private int uncounted;
    private long bytes;

    /** A collector for any number of parts. */
    public BufferCollector(ByteBufAllocator allocator) {
        this(allocator, Integer.MAX_VALUE);
    }

    /**
     * @param maxParts the number of parts that are consolidated into one, because Netty copies a buffer of many parts
     *     when it is written
     */
    public BufferCollector(ByteBufAllocator allocator, int maxParts) {
        this.allocator = allocator;
        this.maxParts = maxParts;
    }

    /**
     * Adds a part.
     *
     * @param part taken. Its capacity beyond its writer index is memory that later parts may extend it into: a {@code
     *     retainedDuplicate()} of a larger buffer can be extended, a {@code retainedSlice()} cannot.
     */
    @SuppressWarnings("ReferenceEquality") // what is not copied is the same object
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
        // Only a copy has spare capacity of its own; a received buffer is followed by memory in use elsewhere.
        ByteBuf kept = SmallParts.kept(allocator, part);
        appendable = kept != part;
        last = kept;
    }

    /**
     * Appends a small part, which is taken, to the last one if that has capacity or is small too; returns whether it
     * did.
     */
    private boolean merge(ByteBuf open, ByteBuf part) {
        ByteBuf to = open;
        if (!appendable || open.writableBytes() < part.readableBytes()) {
            int bytes = open.readableBytes() + part.readableBytes();
            ByteBuf joined = SmallParts.small(open) ? SmallParts.newBuffer(allocator, bytes) : null;
            if (joined == null) {
                return false;
            }
            to = joined.writeBytes(open);
            open.release();
            last = to;
            appendable = true;
        }
        to.writeBytes(part);
        part.release();
        return true;
    }

    /**
     * Extends {@code open} by {@code part} (borrowed) if the part follows it in memory; returns whether it did.
     * Comparing addresses is safe: while {@code open} retains its memory, no other memory can have those addresses.
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

    /** The bytes added since the last {@link #take()}. */
    public long bytes() {
        return bytes;
    }

    private void close(ByteBuf part) {
        CompositeByteBuf parts = before == null ? allocator.compositeBuffer(Integer.MAX_VALUE) : before;
        before = parts;
        parts.addComponent(true, part);
        if (++uncounted == maxParts) {
            uncounted = 0;
            try {
                parts.consolidate(parts.numComponents() - maxParts, maxParts);
                if (parts.numComponents() > maxParts) {
                    parts.consolidate();
                }
            } catch (OutOfMemoryError e) {
                // They stay as they are, and are copied when they are written.
            }
        }
    }

    /** Passes the buffers collected so far to {@code to}, in order; they are borrowed. */
    public void show(Consumer<ByteBuf> to) {
        if (before != null) {
            to.accept(before);
        }
        if (last != null) {
            to.accept(last);
        }
    }

    /** The collected bytes, owned by the caller; a composite only if they are not contiguous. */
    public ByteBuf take() {
        ByteBuf open = last;
        CompositeByteBuf parts = before;
        last = null;
        appendable = false;
        before = null;
        uncounted = 0;
        bytes = 0;
        if (open == null) {
            return Unpooled.EMPTY_BUFFER;
        }
        // A slice, so that readers do not see the memory after it.
        return parts == null ? open.slice() : parts.addComponent(true, open);
    }

    /** Releases the collected parts; idempotent. */
    public void release() {
        take().release();
    }
}

package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

/**
 * Puts parts together without copying them, except small ones: whoever sends a byte at a time must not make an object of each
 * byte, nor keep the memory of a whole read for it. What is put together has at most one part for each KiB, and some more.
 */
public final class SmallParts {
    /** A shorter part is copied, in bytes. */
    public static final int SMALL = 1024;

    private static final int LEAST_ROOM = 64;
    private static final int MOST_ROOM = 2 * SMALL;
    /** A read that took more memory is not kept for the sake of a small part. */
    private static final int LARGE_READ = 16 * 1024;

    private SmallParts() {}

    static boolean small(ByteBuf part) {
        return part.readableBytes() < SMALL;
    }

    /** Memory for so many bytes and what may follow them. */
    static ByteBuf room(ByteBufAllocator allocator, int bytes) {
        int capacity = Math.clamp(2L * bytes, LEAST_ROOM, MOST_ROOM);
        return allocator.directBuffer(capacity, capacity);
    }

    /** Whether the part is small and keeps much more memory than it fills, which nothing that follows can fill. */
    static boolean pins(ByteBuf part) {
        return small(part) && !part.isWritable() && memory(part) > LARGE_READ;
    }

    private static int memory(ByteBuf part) {
        int capacity = part.capacity();
        for (ByteBuf of = part.unwrap(); of != null; of = of.unwrap()) {
            capacity = Math.max(capacity, of.capacity());
        }
        return capacity;
    }

    /** The part, or, where it is small, a copy that keeps none of the memory that it was read into; the part is taken. */
    public static ByteBuf kept(ByteBufAllocator allocator, ByteBuf part) {
        if (!pins(part)) {
            return part;
        }
        ByteBuf copy = room(allocator, part.readableBytes()).writeBytes(part);
        part.release();
        return copy;
    }

    /** Both as one buffer, owned by the caller; both are taken, and {@code before} must be nobody else's. */
    public static CompositeByteBuf join(ByteBufAllocator allocator, ByteBuf before, ByteBuf part) {
        if (before instanceof CompositeByteBuf whole) {
            append(whole, part);
            return whole;
        }
        CompositeByteBuf whole = allocator.compositeBuffer(Integer.MAX_VALUE);
        append(whole, before);
        append(whole, part);
        return whole;
    }

    /** Appends a part, which is taken, to a buffer that is nobody else's. */
    public static void append(CompositeByteBuf whole, ByteBuf part) {
        if (!small(part)) {
            closeRoom(whole);
            whole.addFlattenedComponents(true, part);
            return;
        }
        try {
            if (whole.capacity() - whole.writerIndex() < part.readableBytes()) {
                openRoom(whole, part.readableBytes());
            }
            whole.writeBytes(part);
        } finally {
            part.release();
        }
    }

    /** The same buffer, to which nothing is appended any more: it has no room left that a reader of its parts would see. */
    public static ByteBuf complete(ByteBuf gathered) {
        if (gathered instanceof CompositeByteBuf whole) {
            closeRoom(whole);
        }
        return gathered;
    }

    /** Adds memory that {@code writeBytes} fills: as much as the parts before, so that few small parts take little. */
    private static void openRoom(CompositeByteBuf whole, int bytes) {
        closeRoom(whole);
        int parts = whole.numComponents();
        int before = parts == 0 ? 0 : whole.componentSlice(parts - 1).capacity();
        ByteBuf room = room(whole.alloc(), Math.max(bytes, before));
        whole.addComponent(false, room.writerIndex(room.capacity()));
    }

    /** What follows begins where the bytes so far end. */
    private static void closeRoom(CompositeByteBuf whole) {
        if (whole.capacity() > whole.writerIndex()) {
            whole.capacity(whole.writerIndex());
        }
    }
}

package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Joins parts without copying them, except for small ones: a peer that sends one byte at a time must not cost an object
 * per byte, nor pin a whole read buffer per byte. The result has about one component per KiB at most.
 */
public final class SmallParts {
    /** Parts shorter than this are copied, in bytes. */
    public static final int SMALL = 1024;

    private static final int MIN_CAPACITY = 64;
    private static final int MAX_CAPACITY = 2 * SMALL;
    /** A small part does not pin a read buffer larger than this, in bytes. */
    private static final int LARGE_READ = 16 * 1024;

    private SmallParts() {}

    static boolean small(ByteBuf part) {
        return part.readableBytes() < SMALL;
    }

    /** A buffer for {@code bytes} bytes and small parts that may follow; null without memory: parts go uncopied, too. */
    static @Nullable ByteBuf newBuffer(ByteBufAllocator allocator, int bytes) {
        int capacity = Math.clamp(2L * bytes, MIN_CAPACITY, MAX_CAPACITY);
        try {
            return allocator.directBuffer(capacity, capacity);
        } catch (OutOfMemoryError e) {
            return null;
        }
    }

    /** Whether the part is small but pins much more memory, which later parts cannot fill. */
    static boolean pinsMemory(ByteBuf part) {
        return small(part) && !part.isWritable() && memory(part) > LARGE_READ;
    }

    /** The size of the memory that a part keeps from being released, in bytes. */
    public static int memory(ByteBuf part) {
        int capacity = part.capacity();
        for (ByteBuf of = part.unwrap(); of != null; of = of.unwrap()) {
            capacity = Math.max(capacity, of.capacity());
        }
        return capacity;
    }

    /** The part, or, if it is small and pins a large read buffer, a copy; the part is taken. */
    public static ByteBuf kept(ByteBufAllocator allocator, ByteBuf part) {
        ByteBuf copy = pinsMemory(part) ? newBuffer(allocator, part.readableBytes()) : null;
        if (copy == null) {
            return part;
        }
        copy.writeBytes(part);
        part.release();
        return copy;
    }

    /** Both parts as one buffer, owned by the caller; both are taken, and {@code before} must not be shared. */
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

    /** Appends a part, which is taken, to a buffer that is not shared. */
    public static void append(CompositeByteBuf whole, ByteBuf part) {
        if (small(part) && hasCapacity(whole, part.readableBytes())) {
            whole.writeBytes(part);
            part.release();
        } else {
            trim(whole);
            whole.addFlattenedComponents(true, part);
        }
    }

    /**
     * The same buffer trimmed to its content, so that readers of its components do not see spare capacity; nothing may
     * be appended afterwards.
     */
    public static ByteBuf complete(ByteBuf gathered) {
        if (gathered instanceof CompositeByteBuf whole) {
            trim(whole);
        }
        return gathered;
    }

    /**
     * Adds capacity for {@code writeBytes} if there is too little: as much as the previous component, so that a few small
     * parts take little memory. Returns whether there is enough now.
     */
    private static boolean hasCapacity(CompositeByteBuf whole, int bytes) {
        if (whole.capacity() - whole.writerIndex() >= bytes) {
            return true;
        }
        trim(whole);
        int parts = whole.numComponents();
        int before = parts == 0 ? 0 : whole.componentSlice(parts - 1).capacity();
        ByteBuf added = newBuffer(whole.alloc(), Math.max(bytes, before));
        if (added != null) {
            whole.addComponent(false, added.writerIndex(added.capacity()));
        }
        return added != null;
    }

    /** Trims the capacity, so that the next component starts where the bytes end. */
    private static void trim(CompositeByteBuf whole) {
        if (whole.capacity() > whole.writerIndex()) {
            whole.capacity(whole.writerIndex());
        }
    }
}

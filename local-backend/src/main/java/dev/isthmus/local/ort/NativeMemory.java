package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Finds the address of a buffer's memory if it is contiguous and direct. */
@SuppressWarnings("restricted") // accesses memory by address
final class NativeMemory {
    /** The whole address space, to access memory by its address. */
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** No address. */
    static final long NONE = 0;

    /** A multiple of every processor's vector registers, and of a cache line. */
    static final int ALIGNMENT = 64;

    private NativeMemory() {}

    /**
     * The address of the readable bytes; {@link #NONE} if they are not contiguous or are on the heap. Valid as long as
     * the buffer.
     */
    static long of(ByteBuf data) {
        return data.nioBufferCount() == 1 ? one(data) : joined(data);
    }

    /** The lowest aligned address from this one on. */
    static long aligned(long address) {
        return (address + ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** An empty direct buffer for so many bytes, which begin at an aligned address; allocators align to less. */
    static ByteBuf allocate(ByteBufAllocator allocator, int bytes) {
        ByteBuf data = allocator.directBuffer(Math.addExact(bytes, ALIGNMENT));
        long first = address(data);
        int start = (int) (aligned(first) - first);
        return data.setIndex(start, start);
    }

    static boolean isAligned(long address) {
        return address == aligned(address);
    }

    private static long one(ByteBuf data) {
        return data.isDirect() ? address(data) : NONE;
    }

    /** The address of the readable bytes of a contiguous direct buffer. */
    static long address(ByteBuf data) {
        return data.hasMemoryAddress()
                ? data.memoryAddress() + data.readerIndex()
                : address(data.nioBuffer(data.readerIndex(), data.readableBytes()));
    }

    private static long address(ByteBuffer direct) {
        return MemorySegment.ofBuffer(direct).address();
    }

    /** Adjacent parts are contiguous, as when a body was read into slices of one buffer. */
    private static long joined(ByteBuf data) {
        if (data.nioBufferCount() < 1) {
            return NONE;
        }
        ByteBuffer[] parts = data.nioBuffers(data.readerIndex(), data.readableBytes());
        long start = NONE;
        long end = NONE;
        for (ByteBuffer part : parts) {
            if (!part.hasRemaining()) {
                continue;
            }
            if (!part.isDirect() || (end != NONE && address(part) != end)) {
                return NONE;
            }
            start = end == NONE ? address(part) : start;
            end = address(part) + part.remaining();
        }
        return start;
    }
}

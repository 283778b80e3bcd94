package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Set;

/** Finds the address of a buffer's memory if it is contiguous and direct. */
@SuppressWarnings("restricted") // accesses memory by address
final class NativeMemory {
    /** The whole address space, to access memory by its address. */
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** No address. */
    static final long NONE = 0;

    /** Whether the processor is known to support unaligned reads. */
    private static final boolean ANY_ADDRESS = Set.of("amd64", "x86_64", "x86", "i386")
            .contains(System.getProperty("os.arch", "").toLowerCase(Locale.ROOT));

    private NativeMemory() {}

    /**
     * The address of the readable bytes; {@link #NONE} if they are not contiguous, are on the heap, or are not aligned
     * for numbers of this size. Valid as long as the buffer.
     */
    static long of(ByteBuf data, int size) {
        return of(data, size, ANY_ADDRESS);
    }

    static long of(ByteBuf data, int size, boolean anyAddress) {
        long whole = data.nioBufferCount() == 1 ? one(data) : joined(data);
        return anyAddress || size <= 1 || whole % size == 0 ? whole : NONE;
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

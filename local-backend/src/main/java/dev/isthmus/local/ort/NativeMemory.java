package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Set;

/** Finds the memory of a buffer, where it is one piece outside the heap. */
@SuppressWarnings("restricted") // parts of one memory are joined by their addresses
final class NativeMemory {
    /** All memory, from address 0: for what is known by its address. */
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** No address. */
    static final long NONE = 0;

    /** Of these processors it is known that they read numbers at any address. */
    private static final boolean ANY_ADDRESS = Set.of("amd64", "x86_64", "x86", "i386")
            .contains(System.getProperty("os.arch", "").toLowerCase(Locale.ROOT));

    private NativeMemory() {}

    /**
     * Where the readable bytes lie; {@link #NONE} where they are in several pieces, on the heap, or at an address that numbers
     * of this size cannot be read from. Valid as long as the buffer.
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

    /** The address of the readable bytes of a buffer that is one piece outside the heap. */
    static long address(ByteBuf data) {
        return data.hasMemoryAddress()
                ? data.memoryAddress() + data.readerIndex()
                : address(data.nioBuffer(data.readerIndex(), data.readableBytes()));
    }

    private static long address(ByteBuffer direct) {
        return MemorySegment.ofBuffer(direct).address();
    }

    /** Parts that follow each other in one memory are one piece, as when a body was read into slices of one buffer. */
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

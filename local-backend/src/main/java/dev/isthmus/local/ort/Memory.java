package dev.isthmus.local.ort;

import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds the memory of a buffer, where it is one piece outside the heap. */
@SuppressWarnings("restricted") // parts of one memory are joined by their addresses
final class Memory {
    /** All memory, from address 0: for what is known by its address. */
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** Of these processors it is known that they read numbers at any address. */
    private static final boolean ANY_ADDRESS = Set.of("amd64", "x86_64", "x86", "i386")
            .contains(System.getProperty("os.arch", "").toLowerCase(Locale.ROOT));

    private Memory() {}

    /**
     * The readable bytes where they lie; null where they are in several pieces, on the heap, or at an address that numbers of
     * this size cannot be read from. Valid as long as the buffer.
     */
    static @Nullable ByteBuffer of(ByteBuf data, int size) {
        return of(data, size, ANY_ADDRESS);
    }

    static @Nullable ByteBuffer of(ByteBuf data, int size, boolean anyAddress) {
        ByteBuffer whole = data.nioBufferCount() == 1 ? one(data) : joined(data);
        if (whole == null || anyAddress || size <= 1) {
            return whole;
        }
        return address(whole) % size == 0 ? whole : null;
    }

    /** The address of a direct buffer's position. */
    static long address(ByteBuffer direct) {
        return MemorySegment.ofBuffer(direct).address();
    }

    private static @Nullable ByteBuffer one(ByteBuf data) {
        return data.isDirect() ? data.nioBuffer(data.readerIndex(), data.readableBytes()) : null;
    }

    /** Parts that follow each other in one memory are one piece, as when a body was read into slices of one buffer. */
    private static @Nullable ByteBuffer joined(ByteBuf data) {
        if (data.nioBufferCount() < 1) {
            return null;
        }
        ByteBuffer[] parts = data.nioBuffers(data.readerIndex(), data.readableBytes());
        long start = 0;
        long end = 0;
        for (ByteBuffer part : parts) {
            if (!part.hasRemaining()) {
                continue;
            }
            if (!part.isDirect() || (end != 0 && address(part) != end)) {
                return null;
            }
            start = end == 0 ? address(part) : start;
            end = address(part) + part.remaining();
        }
        return ALL.asSlice(start, data.readableBytes()).asByteBuffer();
    }
}

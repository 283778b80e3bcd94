package dev.isthmus.gateway.memory;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.NettyRuntime;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.internal.PlatformDependent;
import java.util.concurrent.TimeUnit;

/**
 * The buffer allocator of the process. It is Netty's pooled allocator, which reuses released memory across sizes, frees
 * unused chunks, and reports how much memory the buffers in use pin.
 */
public final class BufferAllocators {
    private static final int PAGE = 8 * 1024;
    /** Chunks have a size of {@code PAGE << ORDER}, 4 MiB. */
    private static final int ORDER = 9;
    /** Minimum number of chunks per arena that direct memory must have space for. */
    private static final int CHUNKS = 8;

    private static final int SMALL_CACHED = 64;
    private static final int NORMAL_CACHED = 16;
    private static final long TRIM_SECONDS = 5;

    private static final PooledByteBufAllocator SHARED = fresh();

    private BufferAllocators() {}

    /** The allocator of all connections' buffers. */
    public static PooledByteBufAllocator shared() {
        return SHARED;
    }

    /** A new allocator of the same kind, with memory of its own. */
    public static PooledByteBufAllocator fresh() {
        // No heap arenas: the garbage collector manages the heap.
        return new PooledByteBufAllocator(true, 0, arenas(), PAGE, ORDER, SMALL_CACHED, NORMAL_CACHED, false);
    }

    /** One per event loop, or fewer if direct memory is small. */
    private static int arenas() {
        long arenas = PlatformDependent.maxDirectMemory() / CHUNKS / ((long) PAGE << ORDER);
        return Math.clamp(arenas, 1, NettyRuntime.availableProcessors());
    }

    /**
     * Direct memory in bytes that the allocator's buffers in use pin, filled or not; 0 if the allocator does not report
     * it.
     */
    public static long pinned(ByteBufAllocator allocator) {
        return allocator instanceof PooledByteBufAllocator pooled ? pooled.pinnedDirectMemory() : 0;
    }

    /** Makes each loop trim its thread cache every few seconds. */
    public static void trim(ByteBufAllocator allocator, Iterable<EventExecutor> loops) {
        if (allocator instanceof PooledByteBufAllocator pooled) {
            loops.forEach(loop -> loop.scheduleAtFixedRate(
                    pooled::trimCurrentThreadCache, TRIM_SECONDS, TRIM_SECONDS, TimeUnit.SECONDS));
        }
    }
}

package dev.isthmus.gateway.memory;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.NettyRuntime;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.internal.PlatformDependent;
import java.util.concurrent.TimeUnit;

/**
 * Where buffers come from: one allocator for the whole process. It is Netty's pooled one, which uses the memory of
 * buffers that were released again, whatever their size, gives chunks that are not used back, and knows how much the
 * buffers in use take.
 */
public final class BufferAllocators {
    private static final int PAGE = 8 * 1024;
    /** Chunks of 4 MiB. */
    private static final int ORDER = 9;
    /** So many chunks of each arena have room at least. */
    private static final int CHUNKS = 8;

    private static final int SMALL_CACHED = 64;
    private static final int NORMAL_CACHED = 16;
    private static final long TRIM_SECONDS = 5;

    private static final PooledByteBufAllocator SHARED = fresh();

    private BufferAllocators() {}

    /** The allocator of all connections' buffers. */
    public static ByteBufAllocator shared() {
        return SHARED;
    }

    /** One of the same kind, whose memory goes with it. */
    public static PooledByteBufAllocator fresh() {
        // No arena in the heap: the collector has that.
        return new PooledByteBufAllocator(true, 0, arenas(), PAGE, ORDER, SMALL_CACHED, NORMAL_CACHED, false);
    }

    /** One for each event loop, as far as there is memory. */
    private static int arenas() {
        long room = PlatformDependent.maxDirectMemory() / CHUNKS / ((long) PAGE << ORDER);
        return Math.clamp(room, 1, NettyRuntime.availableProcessors());
    }

    /** Bytes outside the heap that the allocator's buffers in use take, filled or not; 0 where it does not know. */
    public static long pinned(ByteBufAllocator allocator) {
        return allocator instanceof PooledByteBufAllocator pooled ? pooled.pinnedDirectMemory() : 0;
    }

    /** Has each loop give back, every few seconds, what it keeps of the allocator's memory and did not need since. */
    public static void trim(ByteBufAllocator allocator, Iterable<EventExecutor> loops) {
        if (allocator instanceof PooledByteBufAllocator pooled) {
            loops.forEach(loop -> loop.scheduleAtFixedRate(
                    pooled::trimCurrentThreadCache, TRIM_SECONDS, TRIM_SECONDS, TimeUnit.SECONDS));
        }
    }
}

package dev.isthmus.gateway.memory;

import io.netty.buffer.ByteBufAllocator;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Whether a buffer for a read can still be allocated. A process that cannot will not serve anybody until it is started anew;
 * one failure may pass. For all threads.
 */
public final class AllocationProbe {
    /** What one read of a socket takes at most, in bytes. */
    private static final int READ = 512 * 1024;

    /** So many failures in a row count. */
    private static final int FAILURES = 3;

    private final ByteBufAllocator allocator;
    private final AtomicInteger failures = new AtomicInteger();

    /** @param allocator of all connections' buffers */
    public AllocationProbe(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /** Allocates a buffer and gives it back. What is wrong where that has failed several times in a row, else null. */
    public @Nullable String failure() {
        try {
            allocator.directBuffer(READ).release();
            failures.set(0);
            return null;
        } catch (OutOfMemoryError e) {
            return failures.incrementAndGet() < FAILURES
                    ? null
                    : "no memory outside the heap is left: " + e.getMessage();
        }
    }
}

package dev.isthmus.gateway.memory;

import io.netty.buffer.ByteBufAllocator;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether a read buffer can still be allocated. A process in which it cannot needs a restart; a single failure
 * may be temporary. Thread-safe.
 */
public final class AllocationProbe {
    /** More than any read of a socket, in bytes. */
    private static final int READ = 512 * 1024;

    /** Number of consecutive failures that are reported. */
    private static final int FAILURES = 3;

    private final ByteBufAllocator allocator;
    private final AtomicInteger failures = new AtomicInteger();

    /** @param allocator of all connections' buffers */
    public AllocationProbe(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /** Allocates and releases a buffer. Returns the reason if that has failed several times in a row, else null. */
    public @Nullable String failure() {
        try {
            allocator.directBuffer(READ).release();
            failures.set(0);
            return null;
        } catch (OutOfMemoryError e) {
            return failures.incrementAndGet() < FAILURES ? null : "direct memory is exhausted: " + e.getMessage();
        }
    }
}

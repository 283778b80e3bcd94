package dev.isthmus.gateway.memory;

import java.util.concurrent.atomic.AtomicLong;

/** A limit of bytes that are held or announced, beside those of {@link MemoryBudget}. Thread-safe. */
public final class ReservedBytes {
    private final long limit;
    private final AtomicLong held = new AtomicLong();

    /** @param limit in bytes */
    public ReservedBytes(long limit) {
        this.limit = limit;
    }

    /** Reserves memory if the limit allows; {@link #release} releases it. */
    public boolean reserve(long bytes) {
        long now = held.get();
        while (bytes <= limit - now) {
            if (held.compareAndSet(now, now + bytes)) {
                return true;
            }
            now = held.get();
        }
        return false;
    }

    public void release(long bytes) {
        held.addAndGet(-bytes);
    }

    /** The bytes reserved now. */
    public long reserved() {
        return held.get();
    }
}

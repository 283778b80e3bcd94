package dev.isthmus.gateway.shadow;

import java.util.concurrent.atomic.AtomicLong;

/** The memory budget of all copies, in bytes of messages kept from being released. Thread-safe. */
final class ShadowMemory {
    private final long limit;
    private final AtomicLong held = new AtomicLong();

    ShadowMemory(long limit) {
        this.limit = limit;
    }

    /** Reserves memory if the limit allows; {@link #release} releases it. */
    boolean reserve(long bytes) {
        long now = held.get();
        while (bytes <= limit - now) {
            if (held.compareAndSet(now, now + bytes)) {
                return true;
            }
            now = held.get();
        }
        return false;
    }

    void release(long bytes) {
        held.addAndGet(-bytes);
    }

    long reserved() {
        return held.get();
    }
}

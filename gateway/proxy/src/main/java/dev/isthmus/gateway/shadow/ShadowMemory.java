package dev.isthmus.gateway.shadow;

import java.util.concurrent.atomic.AtomicLong;

/** How many bytes of messages all copies together keep from being released, up to a limit. Used by all event loops. */
final class ShadowMemory {
    private final long limit;
    private final AtomicLong held = new AtomicLong();

    ShadowMemory(long limit) {
        this.limit = limit;
    }

    /** Whether there was room for them; they count from now on then, until they are {@linkplain #give given back}. */
    boolean take(long bytes) {
        long now = held.get();
        while (bytes <= limit - now) {
            if (held.compareAndSet(now, now + bytes)) {
                return true;
            }
            now = held.get();
        }
        return false;
    }

    void give(long bytes) {
        held.addAndGet(-bytes);
    }

    long now() {
        return held.get();
    }
}

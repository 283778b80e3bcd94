package dev.isthmus.gateway.cache;

import java.util.concurrent.atomic.AtomicLong;

/** The heap that the responses of all models take together, and its limit. Thread-safe. */
final class CacheMemory {
    private final AtomicLong used = new AtomicLong();
    private final long limit;

    /** @param limit in bytes */
    CacheMemory(long limit) {
        this.limit = limit;
    }

    /** Takes memory; false if there is not so much left. */
    boolean take(int bytes) {
        if (used.addAndGet(bytes) <= limit) {
            return true;
        }
        used.addAndGet(-bytes);
        return false;
    }

    void release(int bytes) {
        used.addAndGet(-bytes);
    }

    /** What is taken, in bytes. */
    long used() {
        return used.get();
    }

    /** What may be taken, in bytes. */
    long limit() {
        return limit;
    }
}

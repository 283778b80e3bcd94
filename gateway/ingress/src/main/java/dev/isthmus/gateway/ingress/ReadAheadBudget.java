package dev.isthmus.gateway.ingress;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the memory that all connections of a listener hold for announced bytes that were not received yet. When it is
 * exhausted, bodies are read in parts. Thread-safe.
 */
final class ReadAheadBudget {
    private final long limit;
    private final AtomicLong reserved = new AtomicLong();

    ReadAheadBudget(long maxBytes) {
        limit = maxBytes;
    }

    /** Reserves bytes; returns false, reserving nothing, if the limit would be exceeded. */
    boolean reserve(int bytes) {
        if (reserved.addAndGet(bytes) <= limit) {
            return true;
        }
        reserved.addAndGet(-bytes);
        return false;
    }

    /** Releases bytes that were received or are not expected any more. */
    void release(int bytes) {
        reserved.addAndGet(-bytes);
    }

    /** Number of reserved bytes. */
    long reserved() {
        return reserved.get();
    }
}

package dev.isthmus.gateway.ingress;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much memory may be held, by all connections of a listener together, for bytes that have been announced and have not
 * come. Where nothing is left, bodies are read in parts. Thread-safe.
 */
final class ReadAheadBudget {
    private final long most;
    private final AtomicLong taken = new AtomicLong();

    ReadAheadBudget(long mostBytes) {
        most = mostBytes;
    }

    /** Takes so much, or nothing where it is not there. */
    boolean take(int bytes) {
        if (taken.addAndGet(bytes) <= most) {
            return true;
        }
        taken.addAndGet(-bytes);
        return false;
    }

    /** Gives so much back: it has come, or is not waited for any more. */
    void giveBack(int bytes) {
        taken.addAndGet(-bytes);
    }

    /** Bytes that are waited for. */
    long taken() {
        return taken.get();
    }
}

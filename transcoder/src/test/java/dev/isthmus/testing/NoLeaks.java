package dev.isthmus.testing;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class after which a buffer is still held. Registered for every class. Buffers that an event loop is about to
 * release are waited for.
 */
public final class NoLeaks implements AfterAllCallback {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    @Override
    public void afterAll(ExtensionContext context) {
        if (!settles(PATIENCE_NANOS)) {
            BufferCounter.fail();
        }
    }

    /** Whether no buffer is held, now or soon. */
    static boolean settles(long patienceNanos) {
        long deadline = System.nanoTime() + patienceNanos;
        while (BufferCounter.held()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        return true;
    }
}

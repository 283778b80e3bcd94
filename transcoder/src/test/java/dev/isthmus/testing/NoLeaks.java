package dev.isthmus.testing;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class that leaves a buffer unreleased. Registered for every class. Waits for buffers that an event loop
 * is about to release.
 */
public final class NoLeaks implements AfterAllCallback {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    @Override
    public void afterAll(ExtensionContext context) {
        if (!settles(PATIENCE_NANOS)) {
            BufferCounter.fail();
        }
    }

    /** Whether all buffers are released within the timeout. */
    static boolean settles(long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        while (BufferCounter.held()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        return true;
    }
}

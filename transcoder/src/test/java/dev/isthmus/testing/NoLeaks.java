package dev.isthmus.testing;

import io.netty.util.LeakPresenceDetector;
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
        if (context.getTestClass().map(Class::isMemberClass).orElse(false)) {
            return;
        }
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            try {
                LeakPresenceDetector.check();
                return;
            } catch (IllegalStateException leak) {
                if (System.nanoTime() > deadline) {
                    throw leak;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
        }
    }
}

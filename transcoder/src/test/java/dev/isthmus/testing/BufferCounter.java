package dev.isthmus.testing;

import io.netty.util.LeakPresenceDetector;

/**
 * Netty's leak presence detector with a scope that can be checked without a reset, so that tests can wait for buffers
 * to be released.
 */
public final class BufferCounter<T> extends LeakPresenceDetector<T> {
    private static volatile ResourceScope scope = new ResourceScope("tests");

    public BufferCounter(Class<?> type, int samplingInterval) {
        super(type);
    }

    public BufferCounter(Class<?> type, int samplingInterval, long maxActive) {
        super(type);
    }

    @Override
    protected ResourceScope currentScope() {
        return scope;
    }

    /** Whether any buffer is held. */
    public static boolean held() {
        return scope.hasOpenResources();
    }

    /** Resets the count, and fails with the records of the buffers held. */
    public static void fail() {
        ResourceScope leaking = scope;
        scope = new ResourceScope("tests");
        leaking.close();
        throw new IllegalStateException("buffers were held, and are no longer");
    }
}
